package api

import (
	"context"
	"slices"
	"strings"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
)

// Watch says that a message has changed, perhaps without: engine/watch is one. Who looks at the message must begin
// to watch before.
type Watch interface {
	Watch(id ident.Message) (changed <-chan struct{}, stop func())
}

type getMessageIn struct {
	ID    string `path:"id"`
	Wait  string `query:"wait" doc:"How long to wait for the message to be in one of the states, or final: such as 10s; 60s at most. When the time is over, the answer is how it is then. For tests, which need not ask again and again."`
	State string `query:"state" doc:"With wait: the states to wait for, separated by commas; none: until it is final."`
}

// wanted reads what a message is awaited to be. A final one never becomes anything else, so that it always does.
func (d *decoder) wanted(in *getMessageIn) func(known) bool {
	var states []message.State
	for name := range strings.SplitSeq(in.State, ",") {
		if in.State == "" {
			break
		}
		state, ok := message.ParseState(strings.TrimSpace(name))
		if !ok {
			d.wrong("state", "no such state: the states are %s", fault.List(message.States()))
			break
		}
		states = append(states, state)
	}
	if in.State != "" && in.Wait == "" {
		d.wrong("state", "it says what to wait for: give wait, too, such as wait=10s")
	}
	return func(m known) bool { return m.Final || slices.Contains(states, m.State) }
}

func (a *API) getMessage(ctx context.Context, in *getMessageIn) (OneMessageView, error) {
	id, err := parseID[ident.Message](in.ID)
	if err != nil {
		return OneMessageView{}, err
	}
	d := &decoder{}
	wait, wanted := d.wait("wait", in.Wait), d.wanted(in)
	if err := d.fault(); err != nil {
		return OneMessageView{}, err
	}
	read := func() (known, error) { return a.message(ctx, id) }
	var m known
	if wait == 0 {
		m, err = read()
	} else {
		over, done, full := a.waiting.begin(ctx, wait)
		if full != nil {
			return OneMessageView{}, full
		}
		defer done()
		m, err = a.await(over, id, read, wanted)
	}
	if err != nil {
		return OneMessageView{}, err
	}
	return a.oneMessage(ctx, m)
}

// await reads a message whenever it has changed, until it is as wanted or the time is over.
func (a *API) await(over context.Context, id ident.Message, read func() (known, error), wanted func(known) bool) (known, error) {
	changed, stop := a.cfg.Watch.Watch(id)
	defer stop()
	for {
		m, err := read()
		if err != nil || wanted(m) {
			return m, err
		}
		select {
		case <-changed:
		case <-over.Done():
			return read() // a hold or its release, of which nobody tells, may have come meanwhile
		}
	}
}
