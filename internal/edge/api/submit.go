package api

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"sync"

	"github.com/einmal/einmal/internal/engine/outbound"
	"github.com/einmal/einmal/internal/ground/fault"
)

// submit is POST /v1/messages. It is registered on the mux itself and reads its own body: the framework's
// validation repeats values in its errors, and costs more than the decision.
func (a *API) submit(w http.ResponseWriter, r *http.Request) {
	who, err := a.keyring.admit(r, ScopeSend, false)
	if err != nil {
		writeProblem(w, err)
		return
	}
	buf := buffers.Get().(*buffer) // the pool holds nothing else
	defer buffers.Put(buf)
	if err := buf.read(w, r, maxBody); err != nil {
		writeProblem(w, err)
		return
	}
	s, err := readSubmission(r, buf.in, who)
	if err != nil {
		writeProblem(w, err)
		return
	}
	got, err := a.cfg.Outbound.Submit(r.Context(), s)
	if err != nil {
		a.report(r.Pattern, err)
		writeProblem(w, err)
		return
	}
	if p := refusal(&got); p != nil {
		writeProblem(w, p)
		return
	}
	buf.out = appendAnswer(buf.out[:0], &got)
	writeAnswer(w, &got, buf.out)
	if got.Awaited() && gotOut(w, r) {
		a.cfg.Outbound.AnswerSent(&got)
	}
}

// gotOut reports whether the answer left in time, to somebody who was still there (D18). What the network does with
// it is not known; a caller who hears nothing of it asks again, and that is then a repeat like any other. Whether the
// caller is there is asked before: many close their connection as soon as they have read the answer.
func gotOut(w http.ResponseWriter, r *http.Request) bool {
	return r.Context().Err() == nil && http.NewResponseController(w).Flush() == nil
}

func readSubmission(r *http.Request, body []byte, who principal) (outbound.Submission, error) {
	d := &decoder{}
	if r.URL.RawQuery != "" { // a dry run asked for there would be sent
		d.query(r, nil)
	}
	key, wrong := idempotencyKey(r.Header)
	if wrong != nil {
		d.fields = append(d.fields, *wrong)
	}
	s := decodeSubmission(d, body)
	who.sign(&s)
	s.IdempotencyKey, s.Header = key, r.Header
	return s, d.fault()
}

func writeAnswer(w http.ResponseWriter, a *outbound.Answer, body []byte) {
	h := w.Header()
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	if a.Replayed {
		h[replayedHeader] = isTrue
	}
	status := statusOf(a)
	if status == http.StatusCreated {
		h["Location"] = []string{"/v1/messages/" + a.Decision.Message.ID.String()}
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone finds the answer again with the same request
}

var (
	jsonType = []string{"application/json"}
	isTrue   = []string{"true"}
	buffers  = sync.Pool{New: func() any { return &buffer{in: make([]byte, 0, 1024), out: make([]byte, 0, 1024)} }}
)

// buffer holds a request's body and its answer.
type buffer struct{ in, out []byte }

// read reads a JSON body of at most so many bytes.
func (b *buffer) read(w http.ResponseWriter, r *http.Request, most int64) error {
	if !isJSON(r.Header.Get("Content-Type")) || r.Header.Get("Content-Encoding") != "" {
		return errMediaType
	}
	body := http.MaxBytesReader(w, r.Body, most)
	b.in = b.in[:0]
	for {
		if len(b.in) == cap(b.in) {
			b.in = append(b.in, 0)[:len(b.in)]
		}
		n, err := body.Read(b.in[len(b.in):cap(b.in)])
		b.in = b.in[:len(b.in)+n]
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return bodyError(err)
		}
	}
}

func bodyError(err error) error {
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return fault.New(fault.TooLarge, "the body is larger than %d bytes", tooLarge.Limit)
	}
	return fault.Wrap(err, fault.Invalid, "the body ended before it was complete")
}

func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "application/json" {
		return false
	}
	charset := params["charset"]
	return charset == "" || charset == "utf-8" || charset == "UTF-8"
}
