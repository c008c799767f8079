package policy

import (
	"slices"
	"time"

	"github.com/goccy/go-yaml/ast"
)

var (
	kinds    = []string{string(KindAuthentication), string(KindAlert), string(KindConfirmation), string(KindCampaign), string(KindService)}
	keyParts = []string{string(KeyEventType), string(KeyEventID), string(KeyEventVersion), string(KeySender), string(KeyTemplateID), string(KeyTemplateVersion), string(KeyCorrelationID)}
)

// maxAuthentication is the longest window of kind authentication: validity and retries of a code end at most
// ten minutes after the start (D6; NIST SP 800-63B, 5.1.3.2).
const maxAuthentication = 10 * time.Minute

// purposes reads the purposes of a file.
func (r *reader) purposes(n ast.Node, into map[string]Purpose) {
	all := r.entries(n, "alert: {kind: alert, key: [event.id], window: 15m}")
	if m, ok := n.(ast.MapNode); ok && !m.MapRange().Next() {
		r.fail(n, "no purpose: name at least one, such as alert: {kind: alert, key: [event.id], window: 15m}")
	}
	for _, e := range all {
		if e.key == UnnamedPurpose {
			r.fail(e.at, "unnamed is the gateway's own purpose, for requests that name none: choose another name")
		} else if !nameForm.MatchString(e.key) {
			r.fail(e.at, "not a name of a purpose: use lower-case letters, digits and _, a letter first, at most 63")
		}
		into[e.key] = r.purpose(e)
	}
}

// purposeNodes are the places that rules about two fields report to.
type purposeNodes struct{ key, window, other ast.Node }

// purpose reads one purpose.
func (r *reader) purpose(e entry) Purpose {
	p := Purpose{Name: e.key}
	var at purposeNodes
	r.fields(e.at, e.value, "{kind: alert, key: [event.id], window: 15m}", []field{
		{"kind", "what it sends, such as kind: confirmation", func(n ast.Node) {
			kind, _ := r.oneOf(n, "kind", kinds)
			p.Kind = Kind(kind)
		}},
		{"key", "what makes two requests the same, such as key: [event.id, event.version]", func(n ast.Node) {
			at.key = n
			p.Key = r.key(n)
		}},
		{"window", "how long a repeat is held back, such as window: 15m", func(n ast.Node) {
			at.window = n
			p.Window = r.window(n)
		}},
		{"on_other_text", "", func(n ast.Node) {
			at.other = n
			p.OnOtherText = r.otherText(n)
		}},
		{"retry", "", nil}, {"unknown", "", nil}, {"exceptions", "", nil}, {"replace_pending", "", nil},
		{"consent", "", nil}, {"frequency", "", nil}, {"operation", "", nil}, {"code", "", nil},
		{"resend", "", nil}, {"while_running", "", nil},
	})
	r.together(&p, at)
	return p
}

// key reads the parts of a key.
func (r *reader) key(n ast.Node) []KeyPart {
	before := len(r.errs)
	var parts []KeyPart
	r.list(n, "[event.id, event.version]", func(n ast.Node) {
		if part, ok := r.oneOf(n, "part of a key", keyParts); ok {
			parts = append(parts, KeyPart(part))
		}
	})
	names := func(p KeyPart) bool { return p != KeySender }
	if len(r.errs) == before && !slices.ContainsFunc(parts, names) {
		r.fail(n, "the key names no intent: add what the message is about, such as event.id")
	}
	return parts
}

// otherText reads what follows another text under the same key.
func (r *reader) otherText(n ast.Node) OtherText {
	if w, _ := word(n); w == "review" || w == "replace" {
		r.fail(n, "on_other_text %s is not yet supported in this release: write suppress", w)
		return ""
	}
	w, _ := r.oneOf(n, "on_other_text", []string{string(OtherTextSuppress), string(OtherTextAllow)})
	return OtherText(w)
}

// together checks the rules that are about several fields, and fills in what was left out.
func (r *reader) together(p *Purpose, at purposeNodes) {
	if p.Kind == KindAuthentication {
		r.authentication(p, at)
	}
	if p.OnOtherText == OtherTextAllow && p.Kind != KindAuthentication && p.Kind != "" {
		r.fail(at.other, "allow is for kind authentication, where each code is a new text: write suppress")
	}
	if p.OnOtherText == "" {
		p.OnOtherText = defaultOtherText(p.Kind)
	}
}

// defaultOtherText is D17's: a code with another text is another code, and must arrive; any other text under a
// known key is more likely a fault of the caller's, and is flagged instead of texted.
func defaultOtherText(k Kind) OtherText {
	if k == KindAuthentication {
		return OtherTextAllow
	}
	return OtherTextSuppress
}

// authentication checks what holds for secrets.
func (r *reader) authentication(p *Purpose, at purposeNodes) {
	if at.window != nil && p.Window.Limit() > maxAuthentication {
		r.fail(at.window, "too long for kind authentication: at most 10m, since a code ends ten minutes after its start")
	}
	challenge := slices.Contains(p.Key, KeyEventVersion) || slices.Contains(p.Key, KeyCorrelationID)
	if len(p.Key) > 0 && !challenge {
		r.fail(at.key, "the key of kind authentication names the challenge: add event.version or correlation_id")
	}
}
