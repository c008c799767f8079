package api

import (
	"context"
	"strconv"
	"strings"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/store"
)

// OneDecisionView is a decision asked for by its id.
type OneDecisionView struct {
	DecisionView
	Otherwise string `json:"otherwise" doc:"What would have made a difference, in plain words."`
}

// otherwise says what would have made a difference. Which fields count, and whether the text does, is the purpose's
// under the version that decided; of one that this release cannot read, the explanation names the fields.
func (a *API) otherwise(ctx context.Context, d *store.Decision) string {
	purpose, known := a.purposeOf(ctx, d)
	return otherwiseWords(d, purpose, known)
}

func (a *API) purposeOf(ctx context.Context, d *store.Decision) (policy.Purpose, bool) {
	name, digits, _ := strings.Cut(d.PolicyID, "@")
	version, err := strconv.Atoi(digits)
	if err != nil {
		return policy.Purpose{}, false
	}
	stored, err := a.cfg.Store.Policy(ctx, name, version)
	if err != nil {
		return policy.Purpose{}, false
	}
	p, wrong := policy.Parse(d.PolicyID, stored.Source)
	if wrong != nil {
		return policy.Purpose{}, false
	}
	if d.Purpose == policy.UnnamedPurpose {
		unnamed, _ := p.Unnamed()
		return unnamed, true
	}
	purpose, ok := p.Purposes[d.Purpose]
	return purpose, ok
}

// keyWords are the parts of a key in plain words.
var keyWords = map[policy.KeyPart]string{
	policy.KeyEventType: "event type", policy.KeyEventID: "event id", policy.KeyEventVersion: "event version", policy.KeySender: "sender",
	policy.KeyTemplateID: "template", policy.KeyTemplateVersion: "template version", policy.KeyCorrelationID: "correlation id",
	policy.KeyText: "text",
}

func otherwiseWords(d *store.Decision, purpose policy.Purpose, known bool) string {
	fields, same := "another destination or purpose, or another of the fields that the explanation names", "Another idempotency key"
	if known {
		words := []string{"destination", "purpose"}
		for _, part := range purpose.Key {
			words = append(words, keyWords[part])
		}
		last := len(words) - 1
		fields = "another " + strings.Join(words[:last], ", ") + " or " + words[last]
		if purpose.OnOtherText == policy.OtherTextSuppress && words[last] != keyWords[policy.KeyText] {
			same += " or another text"
		}
	}
	switch {
	case d.Action == intent.Refused:
		return "Nothing is held by it: the same request, with the same idempotency key or another, is decided anew, and made if the rule lets it through by then."
	case d.Mode == policy.Monitor:
		return "Repeats are only monitored here and sent all the same; enforced, a request with " + fields + " would be another message."
	case d.Action == intent.Allow:
		return "A request with " + fields + " is another message. " + same + " alone makes none."
	}
	words := "With " + fields + " it would have been a new message"
	if d.WindowEnds != 0 {
		words += ", and so it would after the window's end"
	}
	return words + ". " + same + " alone changes nothing."
}
