package api

import (
	"github.com/einmal/einmal/internal/edge/api/strictjson"
	"github.com/einmal/einmal/internal/engine/outbound"
)

// maxBody is the largest body that is read, in bytes.
const maxBody = 64 << 10

// decodeSubmission reads the body of POST /v1/messages. Only what the JSON itself can tell is checked here,
// types and names; the rest is the outbound flow's. What is wrong goes to the decoder, all of it at once.
func decodeSubmission(d *decoder, body []byte) outbound.Submission {
	v, ok := d.body(body)
	if !ok {
		return outbound.Submission{}
	}
	return d.submission(v)
}

// submission reads the members of a request, and others that a call has beside them.
func (d *decoder) submission(v strictjson.Value, others ...member) outbound.Submission {
	s := outbound.Submission{Operation: sendOperation}
	d.members(v, "#", append(members{
		{"to", d.text(&s.To)}, {"region", d.text(&s.Region)}, {"purpose", d.text(&s.Purpose)}, {"sender", d.text(&s.Sender)},
		{"text", d.text(&s.Text)}, {"correlation_id", d.text(&s.CorrelationID)}, {"valid_for", d.text(&s.ValidFor)},
		{"event", d.object(members{
			{"type", d.text(&s.Event.Type)}, {"id", d.text(&s.Event.ID)}, {"version", d.version(&s.Event.Version)},
		})},
		{"template", d.object(members{{"id", d.text(&s.Template.ID)}, {"version", d.version(&s.Template.Version)}})},
		{"metadata", d.texts(&s.Metadata)}, {"dry_run", d.flag(&s.DryRun)}, {"exception", d.notYet},
	}, others...))
	s.Canonical = canonicalMembers(v)
	return s
}

// notYet refuses a member whose shape is known and whose meaning comes with a later release.
func (d *decoder) notYet(_ strictjson.Value, pointer string) {
	d.wrong(pointer, "not yet supported by this release: leave it out")
}

// canonicalMembers is what the fingerprint of an idempotency key is taken over. dry_run is left out: a dry run
// reserves nothing. So is the key itself, which a batch has among the members, and which then is the same request's
// as in the header of a single one.
func canonicalMembers(v strictjson.Value) map[string][]byte {
	forms := make(map[string][]byte, len(v.Members))
	all := make([]byte, 0, 512)
	for _, m := range v.Members {
		if m.Name == "dry_run" || m.Name == keyMember {
			continue
		}
		from := len(all)
		all = m.Value.AppendCanonical(all)
		forms[m.Name] = all[from:len(all):len(all)]
	}
	return forms
}
