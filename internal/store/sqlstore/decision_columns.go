package sqlstore

import (
	"database/sql"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

const decisionColumns = `d.id, d.tenant, d.at, d.action, d.class, d.reason, d.rule, d.policy_id, d.explanation,
	d.window_ends, d.same_text, d.previous_state, d.message_id, d.shown_state, d.shown_delivery, d.shown_attempts,
	d.purpose, d.destination, d.sender, d.event_type, d.event_id, d.event_version, d.template_id, d.template_version,
	d.correlation_id, d.intent_key, d.idempotency_key, d.text_key, d.caller,
	d.mode, d.would, d.mapped_by, d.compared_id, d.matched_key, d.parts, d.data_coding, d.guards,
	coalesce((select m.connection from message m where m.id = d.message_id), 0),
	(select run.last_at from run where run.decision_id = d.id), (select run.count from run where run.decision_id = d.id)`

// The same text of a decision is a number in the store.
const (
	textNotCompared = -1
	textDiffers     = 0
	textSame        = 1
)

// scanDecision reads decisionColumns, and more columns behind them.
func scanDecision(res *sql.Rows, more ...any) (*store.Decision, error) {
	var (
		d                             store.Decision
		id, msg, intentKey, idem, txt []byte
		sameText, mode                int
		previous, shown               message.State
		runLast, runCount             *int64
		compared, matched             []byte
		guards                        string
	)
	dest := append([]any{&id, &d.Tenant, &d.At, &d.Action, &d.Class, &d.Reason, &d.Rule, &d.PolicyID, &d.Explanation,
		&d.WindowEnds, &sameText, &previous, &msg, &shown, &d.Message.Delivery, &d.Message.Attempts,
		&d.Purpose, &d.Destination, &d.Sender, &d.Event.Type, &d.Event.ID, &d.Event.Version, &d.Template.ID, &d.Template.Version,
		&d.CorrelationID, &intentKey, &idem, &txt, &d.Caller,
		&mode, &d.Would, &d.MappedBy, &compared, &matched, &d.Text.Parts, &d.Text.DataCoding, &guards, &d.Message.Connection, &runLast, &runCount}, more...)
	if err := res.Scan(dest...); err != nil {
		return nil, err
	}
	d.ID, d.Message.ID = ident.Decision(keyFrom(id)), ident.Message(keyFrom(msg))
	d.PreviousState, d.Message.State = previous, shown
	d.IntentKey, d.IdempotencyKey, d.TextKey = keyFrom(intentKey), keyFrom(idem), keyFrom(txt)
	d.Mode, d.Compared, d.MatchedKey = modeOf(mode), ident.Message(keyFrom(compared)), keyFrom(matched)
	if runCount != nil {
		d.Run = &store.Run{Last: clock.Micros(*runLast), Count: *runCount}
	}
	var err error
	if d.Guards, err = guardsOf(guards); err != nil {
		return nil, err
	}
	if sameText != textNotCompared {
		same := sameText == textSame
		d.SameText = &same
	}
	return &d, nil
}

func sameTextNumber(d intent.Decision) int {
	switch {
	case d.SameText == nil:
		return textNotCompared
	case *d.SameText:
		return textSame
	}
	return textDiffers
}

// A decision's mode is a number in the store.
const (
	modeEnforce = 0
	modeMonitor = 1
)

func modeNumber(m policy.Mode) int {
	if m == policy.Monitor {
		return modeMonitor
	}
	return modeEnforce
}

func modeOf(n int) policy.Mode {
	if n == modeMonitor {
		return policy.Monitor
	}
	return policy.Enforce
}
