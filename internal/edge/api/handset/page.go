package handset

import (
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"

	"github.com/einmal/einmal/internal/domain/phone"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageStyle template.CSS

//go:embed page.js
var pageScript template.JS

var page = template.Must(template.New("handset").Parse(pageHTML))

// Page writes the page of a number. The page holds no message: its script asks for them, with the key that a
// person types in and that stays in the tab. So the page itself may be shown to anybody, no cookie is made that
// another site could use, and the key is in no address, log or history.
func Page(w http.ResponseWriter, n phone.Number, needsKey bool) error {
	nonce := newNonce()
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'nonce-"+nonce+"'; style-src 'nonce-"+nonce+
		"'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	key := "none"
	if needsKey {
		key = "needed"
	}
	return page.Execute(w, struct {
		Number, Nonce, Key string
		Style              template.CSS
		Script             template.JS
	}{n.E164(), nonce, key, pageStyle, pageScript})
}

func newNonce() string {
	var raw [16]byte
	_, _ = rand.Read(raw[:])
	return base64.RawURLEncoding.EncodeToString(raw[:])
}
