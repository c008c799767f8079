package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/einmal/einmal/internal/edge/api/strictjson"
	"github.com/einmal/einmal/internal/engine/outbound"
)

const (
	maxBatch     = 256     // messages: what a transaction decides together
	maxBatchBody = 1 << 20 // bytes
	// keyMember is an idempotency key in a batch. It is the message's own: one for the batch would say nothing of the
	// part that was taken when an answer got lost.
	keyMember = "idempotency_key"
)

// intended is one message of a batch: a submission, or what is wrong with it.
type intended struct {
	submission outbound.Submission
	err        error
}

// submitBatch is POST /v1/messages/batch: an answer for each message, in their order. What is wrong with one concerns
// no other; a body that is no JSON cannot be told apart and is refused as a whole.
func (a *API) submitBatch(w http.ResponseWriter, r *http.Request) {
	who, err := a.keyring.admit(r, ScopeSend, false)
	if err != nil {
		writeProblem(w, err)
		return
	}
	buf := &buffer{}
	if err := buf.read(w, r, maxBatchBody); err != nil {
		writeProblem(w, err)
		return
	}
	all, err := readBatch(r, buf.in, who)
	if err != nil {
		writeProblem(w, err)
		return
	}
	got := a.submitAll(r, all)
	writeBatch(w, got)
	a.noteSent(w, r, got)
}

func readBatch(r *http.Request, body []byte, who principal) ([]intended, error) {
	d := &decoder{}
	if r.URL.RawQuery != "" {
		d.query(r, nil)
	}
	if len(r.Header.Values(idempotencyHeader)) > 0 {
		d.wrong(idempotencyHeader, "a batch has no key of its own: give each message the member %s", keyMember)
	}
	var all []intended
	v, errs := strictjson.Parse(body)
	within, whole := apart(errs)
	if d.document(v, whole) {
		d.members(v, "#", members{{"messages", func(v strictjson.Value, pointer string) { all = d.batch(v, pointer, within, who) }}})
		d.present(v, []needed{{"messages", "an array of 1 to " + strconv.Itoa(maxBatch) + " messages"}})
	}
	return all, d.fault()
}

// apart tells what is wrong within one message, by its place, with pointers that begin at it, from what concerns the
// whole. If the structure is lost, everything does: where one message ends and another begins cannot be told.
func apart(errs []strictjson.Error) (within map[int][]strictjson.Error, whole []strictjson.Error) {
	if slices.ContainsFunc(errs, func(e strictjson.Error) bool { return e.Lost }) {
		return nil, errs
	}
	within = map[int][]strictjson.Error{}
	for _, e := range errs {
		rest, inside := strings.CutPrefix(e.Pointer, "#/messages/")
		place, rest, deeper := strings.Cut(rest, "/")
		i, err := strconv.Atoi(place)
		if !inside || err != nil {
			whole = append(whole, e)
			continue
		}
		if e.Pointer = "#"; deeper {
			e.Pointer += "/" + rest
		}
		within[i] = append(within[i], e)
	}
	return within, whole
}

func (d *decoder) batch(v strictjson.Value, pointer string, within map[int][]strictjson.Error, who principal) []intended {
	if !d.is(v, pointer, strictjson.Array) {
		return nil
	}
	if n := len(v.Elements); n < 1 || n > maxBatch {
		d.wrong(pointer, "give 1 to %d messages; there are %d", maxBatch, n)
		return nil
	}
	all := make([]intended, len(v.Elements))
	for i, element := range v.Elements {
		all[i] = readIntended(element, within[i], who)
	}
	return all
}

// readIntended reads one message. Pointers in what is said of it begin at the message.
func readIntended(v strictjson.Value, errs []strictjson.Error, who principal) intended {
	d, in := &decoder{}, intended{}
	if !d.document(v, errs) {
		return intended{err: d.fault()}
	}
	var key string
	in.submission = d.submission(v, member{keyMember, func(v strictjson.Value, pointer string) {
		if !d.is(v, pointer, strictjson.String) {
			return
		}
		if key = v.Text; keyProblem(key) != "" {
			d.wrong(pointer, "%s", keyProblem(key))
		}
	}})
	// Rules of the policy see no headers here: those of a batch belong to none of its messages.
	who.sign(&in.submission)
	in.submission.IdempotencyKey = key
	in.err = d.fault()
	return in
}

// submitAll has those decided that could be read.
func (a *API) submitAll(r *http.Request, all []intended) []outbound.Submitted {
	var subs []outbound.Submission
	for i := range all {
		if all[i].err == nil {
			subs = append(subs, all[i].submission)
		}
	}
	decided := a.cfg.Outbound.SubmitAll(r.Context(), subs)
	got := make([]outbound.Submitted, len(all))
	for i := range all {
		if got[i].Err = all[i].err; got[i].Err == nil {
			got[i], decided = decided[0], decided[1:]
			if got[i].Err != nil {
				a.report(r.Pattern, got[i].Err)
			}
		}
	}
	return got
}

func writeBatch(w http.ResponseWriter, got []outbound.Submitted) {
	out := append(make([]byte, 0, 512*len(got)), `{"data":[`...)
	for i := range got {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendOne(out, &got[i])
	}
	out = append(out, "]}\n"...)
	h := w.Header()
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(out))}
	_, _ = w.Write(out) // a client that is gone finds the answers again with the same keys
}

// appendOne writes what a single request would have been answered with: its status, and the body of the answer or the
// problem.
func appendOne(b []byte, s *outbound.Submitted) []byte {
	if p := problemIn(s); p != nil {
		problem, err := json.Marshal(p)
		if err != nil {
			problem = []byte("null") // strings and numbers cannot fail
		}
		b = fmt.Appendf(b, `{"status":%d,"problem":%s`, p.Status, problem)
		if after := p.headers.Get("Retry-After"); after != "" {
			b = fmt.Appendf(b, `,"retry_after_s":%s`, after)
		}
		return append(b, '}')
	}
	b = fmt.Appendf(b, `{"status":%d,"replayed":%t,"answer":`, statusOf(&s.Answer), s.Answer.Replayed)
	return append(appendAnswer(b, &s.Answer), '}')
}

// problemIn is the problem that stands in an answer's place; nil: there is none.
func problemIn(s *outbound.Submitted) *Problem {
	if s.Err != nil {
		return problemOf(s.Err)
	}
	return refusal(&s.Answer)
}

// noteSent says of the answers for which that is awaited that they got out.
func (a *API) noteSent(w http.ResponseWriter, r *http.Request, got []outbound.Submitted) {
	out, asked := false, false
	for i := range got {
		if got[i].Err != nil || !got[i].Answer.Awaited() {
			continue
		}
		if !asked {
			out, asked = gotOut(w, r), true
		}
		if out {
			a.cfg.Outbound.AnswerSent(&got[i].Answer)
		}
	}
}
