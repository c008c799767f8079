package app

import (
	"context"
	"errors"

	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

// addSimulator makes the simulator that test keys need. Two nodes may do so at the same moment: one of them is first,
// and both find it. One that an operator has disabled or removed stays so.
func (a *App) addSimulator(ctx context.Context) error {
	switch l := a.lines.now.Load().byName[kindSimulator]; {
	case l == nil:
	case l.removed:
		return fault.New(fault.State, "messages of test keys go to a simulator, and an operator has removed it: it stays so until  einmal connection add simulator kind=simulator")
	case !l.simulated():
		return fault.New(fault.State, "messages of test keys go to a simulator, and the connection of that name is none: einmal connection add NAME kind=simulator")
	default:
		return fault.New(fault.Unavailable, "messages of test keys go to a simulator, and it is disabled: einmal connection enable simulator").After(routeAfter)
	}
	id, _, err := a.store.EnsureConnection(ctx, kindSimulator, "")
	if err != nil {
		return err
	}
	_, err = a.store.PutConnection(ctx, store.ConnectionSetting{
		ID: id, Settings: `{"kind":"` + kindSimulator + `"}`, Enabled: true, Changed: store.Changed{By: "the gateway, for test keys"},
	})
	if err != nil && !errors.Is(err, store.ErrOtherVersion) {
		return err
	}
	return a.control.Load(ctx)
}
