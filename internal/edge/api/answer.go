package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/edge/api/strictjson"
	"github.com/einmal/einmal/internal/engine/outbound"
	"github.com/einmal/einmal/internal/ground/clock"
)

// answerStatus is the status of a decision: 201 for a message that was made, 200 for one that was there.
func answerStatus(d *intent.Decision) int {
	if d.Action == intent.Allow {
		return http.StatusCreated
	}
	return http.StatusOK
}

// statusOf is the status of an answer. A dry run has made nothing.
func statusOf(a *outbound.Answer) int {
	if a.DryRun {
		return http.StatusOK
	}
	return answerStatus(&a.Decision)
}

// appendAnswer writes the answer to a submission. But for the dry run's members it is made of the stored
// decision alone: a replay is the same body, byte for byte (D8).
//
// It is written by hand because it is on the hot path: encoding/json takes four times as long.
func appendAnswer(b []byte, a *outbound.Answer) []byte {
	d := &a.Decision
	b = append(b, `{"decision":{"id":`...)
	b = appendID(b, d.ID.String(), !a.DryRun)
	b = appendMember(b, `,"action":`, d.Action.String())
	b = appendMember(b, `,"class":`, d.Class.String())
	b = appendMember(b, `,"reason":`, string(d.Reason))
	b = appendMember(b, `,"rule":`, d.Rule)
	b = appendMember(b, `,"policy_version":`, d.PolicyID)
	b = appendMember(b, `,"explanation":`, d.Explanation)
	b = appendTime(append(b, `,"window_ends":`...), d.WindowEnds)
	b = appendFlag(append(b, `,"same_text":`...), d.SameText)
	b = appendMember(b, `,"mode":`, string(d.Mode))
	b = appendID(append(b, `,"would":`...), d.Would.String(), d.Would != 0)
	b = appendID(append(b, `,"compared_with":`...), d.Compared.String(), !d.Compared.IsZero())
	b = appendID(append(b, `,"mapped_by":`...), d.MappedBy, d.MappedBy != "")
	b = append(b, `},"guards":[`...)
	for i, g := range d.Guards {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendMember(b, `{"rule":`, g.Rule)
		b = appendMember(b, `,"kind":`, string(g.Kind))
		b = append(appendMember(b, `,"result":`, string(g.Result)), '}')
	}
	b = append(b, `],"message":`...)
	b = appendSnapshot(b, &d.Message, !d.Message.ID.IsZero() && (!a.DryRun || d.Action != intent.Allow))
	b = append(b, `,"channel":"sms","simulated":`...)
	b = strconv.AppendBool(b, a.Simulated)
	if a.Parts > 0 {
		b = strconv.AppendInt(append(b, `,"parts":`...), int64(a.Parts), 10)
		b = appendMember(b, `,"encoding":`, string(a.Encoding))
	}
	if a.DryRun {
		b = strconv.AppendInt(append(b, `,"dry_run":true,"units_left":`...), int64(a.UnitsLeft), 10)
	}
	return append(b, "}\n"...)
}

// appendSnapshot writes the message, or null where there is none: a dry run makes no message.
func appendSnapshot(b []byte, m *intent.Snapshot, there bool) []byte {
	if !there {
		return append(b, "null"...)
	}
	b = appendID(append(b, `{"id":`...), m.ID.String(), true)
	b = appendMember(b, `,"state":`, m.State.String())
	b = append(b, `,"reported_delivery":`...)
	b = appendID(b, m.Delivery, m.Delivery != "")
	b = append(b, `,"verified":null,"attempts":`...)
	return append(strconv.AppendInt(b, int64(m.Attempts), 10), '}')
}

func appendMember(b []byte, name, value string) []byte {
	return strictjson.AppendString(append(b, name...), value)
}

func appendID(b []byte, id string, there bool) []byte {
	if !there {
		return append(b, "null"...)
	}
	return strictjson.AppendString(b, id)
}

func appendTime(b []byte, t clock.Micros) []byte {
	if t == 0 {
		return append(b, "null"...)
	}
	b = append(b, '"')
	b = t.Time().AppendFormat(b, time.RFC3339Nano)
	return append(b, '"')
}

func appendFlag(b []byte, v *bool) []byte {
	if v == nil {
		return append(b, "null"...)
	}
	return strconv.AppendBool(b, *v)
}
