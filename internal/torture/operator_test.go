package torture_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/einmal/einmal/internal/domain/exception"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/torture/check"
)

// policyFile is the policy of a version. Each second one has another key, so that windows of the one before it hold
// requests under the older key (D6), and each fourth one only monitors: what it lets through has a record (X3).
func policyFile(version int) string {
	kind, mode := "", "enforce"
	if version%2 == 0 {
		kind = ", event.type"
	}
	if version%4 == 3 {
		mode = "monitor"
	}
	return fmt.Sprintf(`
policy: torture
version: %d
mode: %[3]s
purposes:
  order_confirmation:
    kind: confirmation
    key: [event.id, event.version, sender%[2]s]
    window: {while: [delivered, undelivered, cancelled], at_most: 30d}
  alert: {kind: alert, key: [event.id, event.version%[2]s], window: 15m}
  login_code: {kind: authentication, key: [event.id, event.version], window: {while: [], at_most: 10m}}
  sale: {kind: campaign, key: [event.id%[2]s], window: 7d}
`, version, kind, mode)
}

// operator changes the policy, stops and lifts, and resolves exceptions while the load runs. Whatever has no answer
// is done again.
type operator struct {
	w       *world
	rng     *rand.Rand
	version int // of the policy that is to come into force next
	stop    *ident.Stop
	acts    check.Acts
}

func newOperator(w *world) *operator {
	return &operator{
		w: w, version: 2, acts: check.Acts{Resolved: map[ident.Exception]exception.State{}},
		rng: rand.New(rand.NewPCG(seed, w.load.rng.Uint64())),
	}
}

// act is one thing that an operator does; false: it was not answered.
type act func(*operator) bool

// acts are all of them.
var allActs = []act{(*operator).applyPolicy, (*operator).stopOrLift, (*operator).resolve}

// work does some of these acts again and again until done.
func (o *operator) work(done func() bool, rest time.Duration, acts ...act) {
	for !done() {
		acts[o.rng.IntN(len(acts))](o)
		<-time.After(rest)
	}
}

// beside runs a load with the operator at work beside it, until the load has ended.
func (o *operator) beside(load func(), rest time.Duration, acts ...act) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		o.work(func() bool {
			select {
			case <-over:
				return true
			default:
				return false
			}
		}, rest, acts...)
	}()
	load()
	close(over)
	<-ended
}

// applyPolicy brings the next version into force. The same version again changes nothing, and is answered as well.
func (o *operator) applyPolicy() bool {
	var got struct{ ID string }
	status := o.w.load.call(http.MethodPost, "/v1/policies", "", map[string]string{"source": policyFile(o.version)}, &got)
	if status != http.StatusOK {
		return o.refused("a policy", status)
	}
	o.acts.Policies = append(o.acts.Policies, got.ID)
	o.version++
	return true
}

// refused reports an answer that no fault explains.
func (o *operator) refused(what string, status int) bool {
	if status != 0 && status < http.StatusInternalServerError {
		o.w.Errorf("%s was answered with %d", what, status)
	}
	return false
}

// why is what an operator says.
func why() map[string]string { return map[string]string{"by": "torture", "reason": "a test"} }

// stopOrLift stops campaigns, or lifts the stop that is in force.
func (o *operator) stopOrLift() bool {
	if o.stop != nil {
		return o.lift()
	}
	body := why()
	body["purpose"] = "sale"
	var got struct{ ID ident.Stop }
	if status := o.w.load.call(http.MethodPost, "/v1/stops", "", body, &got); status != http.StatusOK {
		return o.refused("a stop", status)
	}
	o.stop, o.acts.Stopped = &got.ID, append(o.acts.Stopped, got.ID)
	return true
}

// lift lifts the stop. One whose lift was not answered may be lifted already, which is an answer too.
func (o *operator) lift() bool {
	status := o.w.load.call(http.MethodDelete, "/v1/stops/"+o.stop.String(), "", why(), nil)
	if status != http.StatusOK && status != http.StatusConflict {
		return o.refused("the end of a stop", status)
	}
	o.acts.Lifted = append(o.acts.Lifted, *o.stop)
	o.stop = nil
	return true
}

// leave lifts whatever is in force, so that everything can leave.
func (o *operator) leave() {
	var inForce struct{ Data []struct{ ID ident.Stop } }
	o.w.await("the stops to be lifted", func() bool {
		if o.w.load.call(http.MethodGet, "/v1/stops?in_force=true", "", nil, &inForce) != http.StatusOK {
			return false
		}
		for _, s := range inForce.Data {
			o.stop = &s.ID
			if !o.lift() {
				return false
			}
		}
		o.stop = nil
		return true
	})
}

// resolve resolves an open exception, one way or another. A receipt whose answer was lost is given to its attempt
// where the number is nobody else's: then the person cannot be wrong.
func (o *operator) resolve() bool {
	all, ok := listed[shownException](o.w.load, "/v1/exceptions")
	for _, x := range all {
		if !x.Open || !ok {
			continue
		}
		action := exception.Dismiss
		if x.Message != nil && len(x.Candidates) <= 1 && o.rng.IntN(2) == 0 && (x.Kind == string(exception.Conflicting) || x.Kind == string(exception.LostAnswer) && o.sure(*x.Message)) {
			action = exception.Attach
		}
		return o.say(x, action)
	}
	return ok
}

// sure reports whether a message's number is its own.
func (o *operator) sure(id string) bool {
	var m shown
	if o.w.load.call(http.MethodGet, "/v1/messages/"+id, "", nil, &m) != http.StatusOK {
		return false
	}
	return m.Event.ID != "" && len(m.Attempts) == 1 && o.w.load.only(m.Event.ID)
}

// say resolves an exception, again and again until that is answered or the gateway is gone for long.
func (o *operator) say(x shownException, a exception.Action) bool {
	var id ident.Exception
	must(o.w, id.UnmarshalText([]byte(x.ID)))
	body := why()
	body["action"] = string(a)
	switch status := o.w.load.call(http.MethodPost, "/v1/exceptions/"+x.ID+"/resolve", "", body, nil); status {
	case http.StatusOK:
		o.acts.Resolved[id] = exception.Actions[a]
		return true
	case http.StatusConflict: // evidence, or an earlier word of ours that was not answered
		return true
	default:
		return o.refused("a resolution", status)
	}
}
