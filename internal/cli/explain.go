package cli

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/edge/api"
)

type explainCmd struct {
	ID string `arg:"" help:"A decision, dec_…, or a message, msg_…"`
	clientFlags
}

func (c *explainCmd) Run(ctx context.Context, env *Env) error {
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	switch {
	case strings.HasPrefix(c.ID, "dec_"):
		return c.decision(ctx, env, gateway)
	case strings.HasPrefix(c.ID, "msg_"):
		return c.message(ctx, env, gateway)
	}
	return &failure{code: exitUsage, text: "not an id that can be explained: give a decision, dec_…, or a message, msg_…"}
}

func (c *explainCmd) decision(ctx context.Context, env *Env, gateway *client) error {
	var d api.DecisionView
	raw, err := gateway.get(ctx, "/v1/decisions/"+url.PathEscape(c.ID), &d)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err = env.Stdout.Write(raw)
		return err
	}
	var m api.MessageView
	if _, err := gateway.get(ctx, "/v1/messages/"+url.PathEscape(d.Message.ID), &m); err != nil {
		return err
	}
	explainDecision(env, &d, &m)
	return nil
}

// explainDecision answers: what was asked, what it was compared with, which rule of which policy decided, until
// when, and what would have made it different.
func explainDecision(env *Env, d *api.DecisionView, m *api.MessageView) {
	s := env.style()
	head, sending := "Taken: this request made a message.", "Its sending: "
	switch {
	case d.Would != nil:
		head = "Taken, though it was a repeat: this request made a message of its own."
	case d.Action != "allow":
		head, sending = "Not sent a second time: this request was a repeat.", "The first one's sending: "
	}
	_, _ = fmt.Fprintln(env.Stdout, s.bold(head))
	_, _ = fmt.Fprintln(env.Stdout, sending+sendingWords(m)+".")
	_, _ = fmt.Fprintln(env.Stdout)
	rows := [][]string{
		{"Asked", clock(d.At) + " UTC: " + requestWords(d)},
		{"Why", clean(d.Explanation)},
	}
	if d.ComparedWith != nil {
		rows = append(rows, []string{"Compared with", comparedWords(d)})
	}
	if d.MappedBy != nil {
		rows = append(rows, []string{"Mapped", "by the policy's rule " + clean(*d.MappedBy)})
	}
	rows = append(rows,
		[]string{"Decision", decisionWords(s, d)},
		[]string{"Rule", clean(d.Rule) + " of the policy " + clean(d.PolicyVersion)},
		[]string{"Until", untilWords(d)},
	)
	if d.Run != nil {
		rows = append(rows, []string{"Repeats", fmt.Sprintf("%d until %s UTC, counted with this decision", d.Run.Count, clock(d.Run.Last))})
	}
	if d.Action != "allow" {
		rows = append(rows, []string{"Otherwise", otherwiseWords(d)})
	}
	rows = append(rows, []string{"Today", fmt.Sprintf("message %s is %s", clean(m.ID), s.state(m.State))})
	table(env.Stdout, rows)
	_, _ = fmt.Fprintln(env.Stdout, s.faint("\nnext: einmal timeline "+clean(m.ID)))
}

func decisionWords(s style, d *api.DecisionView) string {
	words := fmt.Sprintf("%s, %s, %s", s.state(d.Action), clean(d.Class), clean(d.Reason))
	if d.Would != nil {
		words += "; mode monitor, which did not " + clean(*d.Would)
	}
	return words
}

func requestWords(d *api.DecisionView) string {
	words := "purpose " + d.Purpose + " to " + d.To
	if e := d.Event; e != nil {
		words += ", " + strings.TrimSpace(e.Type+" "+e.ID)
		if e.Version != "" {
			words += " version " + e.Version
		}
	}
	if d.Sender != "" {
		words += ", sender " + d.Sender
	}
	if d.CorrelationID != "" {
		words += ", correlation id " + d.CorrelationID
	}
	return clean(words + "; with the API key " + d.Caller)
}

func comparedWords(d *api.DecisionView) string {
	words := "message " + clean(*d.ComparedWith)
	if d.MatchedKey != nil {
		words += ", found under another key: of an older policy version, or of this very text"
	}
	if d.PreviousState != nil {
		words += ", which was " + clean(*d.PreviousState) + " at that moment"
	}
	if d.SameText != nil && !*d.SameText {
		return words + "; its text is another one"
	}
	return words + "; the text is the same"
}

func untilWords(d *api.DecisionView) string {
	if d.WindowEnds == nil {
		return "the window's end is not known yet: it stays open while the message is owed something"
	}
	return clock(*d.WindowEnds) + " UTC at the latest; while an attempt's outcome is open, longer"
}

// partWords are the parts of a key in plain words.
var partWords = map[policy.KeyPart]string{
	policy.KeyEventType: "event type", policy.KeyEventID: "event id", policy.KeyEventVersion: "event version", policy.KeySender: "sender",
	policy.KeyTemplateID: "template", policy.KeyTemplateVersion: "template version", policy.KeyCorrelationID: "correlation id",
}

// otherwiseWords say what would have made the request a new one. Which fields count, and whether the text does,
// is the purpose's; of a policy that this program does not know, the explanation above names the fields.
func otherwiseWords(d *api.DecisionView) string {
	fields, same := "another destination or purpose, or another of the fields named above", "another idempotency key"
	builtin := policy.Builtin()
	if purpose, ok := builtin.Purposes[d.Purpose]; ok && builtin.ID() == d.PolicyVersion {
		words := []string{"destination", "purpose"}
		for _, part := range purpose.Key {
			words = append(words, partWords[part])
		}
		last := len(words) - 1
		fields = "another " + strings.Join(words[:last], ", ") + " or " + words[last]
		if purpose.OnOtherText == policy.OtherTextSuppress {
			same += " or another text"
		}
	}
	words := "with " + fields + " it would have been a new message"
	if d.WindowEnds != nil {
		words += ", and so it would after the window's end"
	}
	return words + "; " + same + " alone changes nothing"
}

func (c *explainCmd) message(ctx context.Context, env *Env, gateway *client) error {
	var m api.MessageView
	raw, err := gateway.get(ctx, "/v1/messages/"+url.PathEscape(c.ID), &m)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err = env.Stdout.Write(raw)
		return err
	}
	var made api.DecisionView
	if _, err := gateway.get(ctx, "/v1/decisions/"+url.PathEscape(m.Decision), &made); err != nil {
		return err
	}
	var about api.List[api.DecisionView]
	if _, err := gateway.get(ctx, "/v1/decisions?limit=200&message="+url.QueryEscape(m.ID), &about); err != nil {
		return err
	}
	explainDecision(env, &made, &m)
	explainRepeats(env, &about)
	return nil
}

// explainRepeats lists the requests that were answered with this message instead of another SMS.
func explainRepeats(env *Env, about *api.List[api.DecisionView]) {
	rows := [][]string{}
	for _, d := range about.Data {
		if d.Action == "suppress" {
			rows = append(rows, []string{clock(d.At), clean(d.ID), clean(d.Reason)})
		}
	}
	if len(rows) == 0 {
		return
	}
	more := ""
	if about.Next != nil {
		more = ", and more"
	}
	_, _ = fmt.Fprintf(env.Stdout, "\nRequests that were answered with this message instead of a second SMS (%d%s):\n", len(rows), more)
	table(env.Stdout, rows)
	_, _ = fmt.Fprintln(env.Stdout, env.style().faint("next: einmal explain "+rows[0][1]))
}
