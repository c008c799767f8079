package simulator

import (
	"sync"
	"time"

	wire "github.com/einmal/einmal/internal/smpp"
)

// delivery is a deliver_sm that is sent until it is answered with status 0.
type delivery struct {
	pdu   wire.PDU
	tries int
	// tried, if set, is called once, after the first try has an answer or none.
	tried func()
	// then, if set, is called once, when the delivery was taken.
	then func()
}

const (
	// retryDelay is the pause after an answer other than 0.
	retryDelay = time.Second
	// maxTries ends the repetition towards a receiver that never takes a delivery.
	maxTries = 600
	// maxQueued bounds what waits for a system_id that does not bind.
	maxQueued = 1_000_000
)

// receiver is a session that deliveries go to. To a peer below SMPP 3.4 they go without TLVs.
type receiver struct {
	session *wire.Session
	tlvs    bool
}

func (r receiver) send(d *delivery, done func(wire.Result)) error {
	pdu := d.pdu
	if !r.tlvs {
		pdu.TLVs = nil
	}
	return r.session.Request(&wire.Request{PDU: pdu, Done: done})
}

// outbox has the deliveries of one system_id. They wait while none of its receivers is bound.
type outbox struct {
	mu        sync.Mutex
	queue     []*delivery
	receivers []receiver
	turn      int
	closed    bool
}

func (o *outbox) add(d *delivery) {
	o.mu.Lock()
	if !o.closed && len(o.queue) < maxQueued {
		o.queue = append(o.queue, d)
	}
	o.mu.Unlock()
	o.pump()
}

func (o *outbox) attach(r receiver) {
	o.mu.Lock()
	o.receivers = append(o.receivers, r)
	o.mu.Unlock()
	o.pump()
}

func (o *outbox) detach(s *wire.Session) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, r := range o.receivers {
		if r.session == s {
			o.receivers = append(o.receivers[:i:i], o.receivers[i+1:]...)
			return
		}
	}
}

// listening reports whether a receiver is bound.
func (o *outbox) listening() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.receivers) > 0
}

func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed, o.queue = true, nil
}

// pump hands deliveries to the receivers in turn, as far as their windows reach.
func (o *outbox) pump() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) > 0 && o.send(o.queue[0]) {
		o.queue[0] = nil
		o.queue = o.queue[1:]
	}
}

func (o *outbox) send(d *delivery) bool {
	for range o.receivers {
		o.turn = (o.turn + 1) % len(o.receivers)
		if o.receivers[o.turn].send(d, func(r wire.Result) { o.done(d, r) }) == nil {
			return true
		}
	}
	return false
}

func (o *outbox) done(d *delivery, r wire.Result) {
	if r.Late {
		return // it was queued again when the time ended; a receiver must bear repeats
	}
	if d.tried != nil {
		d.tried()
		d.tried = nil
	}
	d.tries++
	switch {
	case r.PDU != nil && r.PDU.Status == wire.StatusOK:
		if d.then != nil {
			d.then()
		}
	case d.tries >= maxTries:
	case r.PDU != nil:
		time.AfterFunc(retryDelay, func() { o.add(d) })
	default:
		o.add(d)
	}
}
