package api

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/ground/fault"
)

// covers: D14
func TestACancellationWithoutAReasonNamesTheField(t *testing.T) {
	w := newWorld(t)
	path := "/v1/messages/" + w.store.message.ID.String() + "/cancel"
	for _, body := range []string{"", "{}", `{"reason":""}`, `{"reason":" \t\u00a0"}`} {
		p := w.problem(w.call("POST", path, w.admin, body), 400, fault.Invalid)
		if len(p.Errors) != 1 || p.Errors[0].Pointer != "#/reason" || !strings.Contains(p.Errors[0].Detail, "write why") {
			t.Errorf("%q: %+v", body, p)
		}
	}
	r := httptest.NewRequest("POST", path, struct{ io.Reader }{strings.NewReader("")}) // of unknown length
	r.Header.Set("Authorization", "Bearer "+w.admin)
	rec := httptest.NewRecorder()
	w.api.ServeHTTP(rec, r)
	if p := w.problem(rec, 400, fault.Invalid); len(p.Errors) != 1 {
		t.Errorf("%+v", p)
	}
	if w.outbound.cancelled.person != "" {
		t.Error("it was cancelled")
	}
}

// A key's name is shown in timelines and on terminals.
func TestKeysHaveNamesThatCanBeShown(t *testing.T) {
	w := newWorld(t)
	before := len(w.store.keys)
	for body, pointer := range map[string]string{
		`{"name":"shop\u001b[2J","scopes":["send"]}`: "#/name", `{"name":"a\nb","scopes":["send"]}`: "#/name",
		`{"name":"a\u202eb","scopes":["send"]}`: "#/name", `{"name":"  ","scopes":["send"]}`: "#/name", `{"name":"shop"}`: "#/scopes", "": "#/name",
	} {
		p := w.problem(w.call("POST", "/v1/keys", w.admin, body), 400, fault.Invalid)
		if len(p.Errors) == 0 || p.Errors[0].Pointer != pointer {
			t.Errorf("%s: %+v", body, p)
		}
	}
	if len(w.store.keys) != before {
		t.Error("a key was made")
	}
	var made NewKeyView
	w.decode(w.call("POST", "/v1/keys", w.admin, `{"name":" Käse & Söhne ","scopes":["send"]}`), 201, &made)
	if made.Name != "Käse & Söhne" {
		t.Error(made.Name)
	}
}
