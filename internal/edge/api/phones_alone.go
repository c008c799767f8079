package api

import (
	"encoding/json"
	"net"
	"net/http"
	"strconv"

	"github.com/einmal/einmal/internal/edge/api/handset"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/provider"
)

// NewPhones serves the handsets of a message centre that runs by itself, without keys: page and calls as in the
// gateway. It answers only to names of this machine, so that no page of another site reaches it by a name of its
// own, and no other origin may write.
func NewPhones(phones provider.Phones) http.Handler {
	p := &phonesAlone{phones}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /handset/{number}", func(w http.ResponseWriter, r *http.Request) { writePage(w, r, false) })
	mux.HandleFunc("GET /v1/handset/{number}", answers(p.read))
	mux.HandleFunc("POST /v1/handset/{number}/reply", answers(p.reply))
	return onThisMachine(http.NewCrossOriginProtection().Handler(mux))
}

type phonesAlone struct{ phones provider.Phones }

func (p *phonesAlone) read(w http.ResponseWriter, r *http.Request) (any, error) {
	d, query := &decoder{}, r.URL.Query()
	wait := d.wait("wait", query.Get("wait"))
	after, err := strconv.ParseInt("0"+query.Get("after"), 10, 64)
	if err != nil {
		d.wrong("after", "expected a whole number from 0")
	}
	if err := d.fault(); err != nil {
		return nil, err
	}
	number, err := handset.Number(r.PathValue("number"), query.Get("region"))
	if err != nil {
		return nil, err
	}
	postpone(w, wait)
	return handset.Read(r.Context(), p.phones, number, after, wait), nil
}

// taken is what is known of a message that an ESME has taken.
const taken = "An ESME that is bound to the simulated SMSC has taken it. What it does with it is its own."

func (p *phonesAlone) reply(w http.ResponseWriter, r *http.Request) (any, error) {
	number, err := handset.Number(r.PathValue("number"), r.URL.Query().Get("region"))
	if err != nil {
		return nil, err
	}
	buf := &buffer{}
	if err := buf.read(w, r, maxBody); err != nil {
		return nil, err
	}
	text, to, err := readReply(r.Header.Get("Content-Type"), buf.in)
	if err != nil {
		return nil, err
	}
	return handset.Answer(r.Context(), p.phones, number, to, text, taken)
}

// answers writes what a handler returns as JSON, or its error as a problem document.
func answers(handle func(http.ResponseWriter, *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		out, err := handle(w, r)
		if err != nil {
			writeProblem(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out) // the client may be gone
	}
}

// onThisMachine lets in only requests that were made to localhost or to an address of the loopback.
func onThisMachine(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			writeProblem(w, fault.New(fault.Scope, "the handsets are shown on this machine alone: use localhost or 127.0.0.1"))
			return
		}
		next.ServeHTTP(w, r)
	})
}
