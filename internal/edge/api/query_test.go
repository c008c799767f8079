package api

import (
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/ground/fault"
)

// A dry run that is asked for in the query would be sent.
//
// covers: D2
func TestWritesTakeNoQuery(t *testing.T) {
	w := newWorld(t)
	cancel := "/v1/messages/" + w.store.message.ID.String() + "/cancel"
	for _, c := range []struct{ method, path, body, says string }{
		{"POST", "/v1/messages?dry_run=true", ordinary, "members belong in the body"},
		{"POST", cancel + "?dry_run=true", `{"reason":"x"}`, "members belong in the body"},
		{"POST", "/v1/keys?dry_run=true", `{"name":"x","scopes":["send"]}`, "members belong in the body"},
		{"DELETE", "/v1/keys/abc?dry_run=true", "", "takes no query parameters"},
		{"GET", "/v1/keys?dry_run=true", "", "takes no query parameters"},
	} {
		keys := len(w.store.keys)
		p := w.problem(w.call(c.method, c.path, w.admin, c.body), 400, fault.Invalid)
		if len(p.Errors) != 1 || p.Errors[0].Parameter != "dry_run" || !strings.Contains(p.Errors[0].Detail, c.says) || strings.Contains(p.Errors[0].Detail, "known") {
			t.Errorf("%s %s: %+v", c.method, c.path, p.Errors)
		}
		if len(w.outbound.got) > 0 || w.outbound.cancelled.reason != "" || len(w.store.keys) != keys {
			t.Errorf("%s %s was done", c.method, c.path)
		}
	}
	p := w.problem(w.call("POST", "/v1/messages?to=%2B12025550143&%zz", w.admin, `{"text":1}`), 400, fault.Invalid)
	if len(p.Errors) != 3 || len(w.outbound.got) > 0 {
		t.Errorf("query and body are told at once: %+v", p.Errors)
	}
}

func TestAWrongParameterSaysWhatWouldBeRight(t *testing.T) {
	w := newWorld(t)
	timeline := "/v1/messages/" + w.store.message.ID.String() + "/timeline"
	for path, want := range map[string]string{
		"/v1/messages?limit=0": "a whole number from 1 to 200", "/v1/messages?limit=abc": "a whole number from 1 to 200",
		"/v1/events?limit=1001": "a whole number from 1 to 1000", "/v1/events?limit=99999999999999999999": "a whole number from 1 to 1000",
		"/v1/events?after=-1": "a whole number from 0", "/v1/events?after=x": "a whole number from 0",
		timeline + "?limit=1.5": "a whole number from 1 to 1000", "/v1/messages?after=-1": "copy it whole",
		"/v1/messages?after=" + strings.Repeat("A", 65): "at most 64 characters", "/v1/messages?stat=x": "did you mean state",
		"/v1/messages?event=A;B": "name=value",
	} {
		p := w.problem(w.call("GET", path, w.admin, ""), 400, fault.Invalid)
		if len(p.Errors) != 1 || !strings.Contains(p.Errors[0].Detail, want) {
			t.Errorf("%s: %+v", path, p.Errors)
		}
	}
	var l List[MessageView]
	w.get("/v1/messages?limit=&after=&event=%20A-1%E2%80%83&correlation_id=c%20", 200, &l)
	if f := w.store.filter; f.EventID != "A-1" || f.CorrelationID != "c" {
		t.Errorf("searched for %q and %q, as names are stored without spaces around them", f.EventID, f.CorrelationID)
	}
}
