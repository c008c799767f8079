package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/google/uuid"
)

type sendCmd struct {
	To              string            `help:"Destination, in E.164 or in the local form of --region."`
	Region          string            `help:"ISO 3166-1, two letters."`
	Purpose         string            `help:"What the message is for: a purpose of the policy."`
	Event           string            `name:"event-id" help:"Id of the business event."`
	EventType       string            `help:"Type of the business event."`
	EventVersion    string            `help:"Version of the business event."`
	Sender          string            `help:"Name or number that it comes from."`
	TemplateID      string            `help:"Template that the text was made from."`
	TemplateVersion string            `help:"Its version."`
	Text            string            `help:"The text."`
	CorrelationID   string            `help:"Your own id of the operation."`
	ValidFor        string            `help:"How long it may wait to be sent, such as 1h."`
	Metadata        map[string]string `help:"Echoed, such as basket=77." placeholder:"KEY=VALUE"`
	DryRun          bool              `help:"Show the decision only; nothing is reserved."`
	IdempotencyKey  string            `help:"Makes a retry safe; else one is made up."`
	clientFlags
}

type request struct {
	To            string            `json:"to,omitempty"`
	Region        string            `json:"region,omitempty"`
	Purpose       string            `json:"purpose,omitempty"`
	Event         *event            `json:"event,omitempty"`
	Sender        string            `json:"sender,omitempty"`
	Template      *template         `json:"template,omitempty"`
	Text          string            `json:"text,omitempty"`
	CorrelationID string            `json:"correlation_id,omitempty"`
	ValidFor      string            `json:"valid_for,omitempty"`
	Metadata      map[string]string `json:"metadata,omitempty"`
	DryRun        bool              `json:"dry_run,omitempty"`
}

type event struct {
	Type    string `json:"type,omitempty"`
	ID      string `json:"id,omitempty"`
	Version string `json:"version,omitempty"`
}

type template struct {
	ID      string `json:"id,omitempty"`
	Version string `json:"version,omitempty"`
}

// body is the request as JSON: from the flags, or from stdin where they name neither destination nor text.
func (c *sendCmd) body(env *Env) ([]byte, error) {
	if c.To == "" && c.Text == "" {
		raw, err := io.ReadAll(io.LimitReader(env.Stdin, 1<<20))
		if err == nil && len(raw) == 0 {
			return nil, &failure{code: exitUsage, text: "nothing to send: give --to, --purpose and --text, or a request as JSON on stdin", next: "einmal send --help"}
		}
		return raw, err
	}
	r := request{
		To: c.To, Region: c.Region, Purpose: c.Purpose, Sender: c.Sender, Text: c.Text,
		CorrelationID: c.CorrelationID, ValidFor: c.ValidFor, Metadata: c.Metadata, DryRun: c.DryRun,
	}
	if e := (event{c.EventType, c.Event, c.EventVersion}); e != (event{}) {
		r.Event = &e
	}
	if t := (template{c.TemplateID, c.TemplateVersion}); t != (template{}) {
		r.Template = &t
	}
	return json.Marshal(r)
}

func (c *sendCmd) Run(ctx context.Context, env *Env) error {
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	body, err := c.body(env)
	if err != nil {
		return err
	}
	key := c.IdempotencyKey
	if key == "" {
		key = uuid.NewString()
	}
	a, err := submit(ctx, env, gateway, body, key)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err = env.Stdout.Write(a.body)
		return err
	}
	return showAnswer(env, a)
}

// submit sends the request and, if the answer is lost, once more with the same idempotency key: the gateway then
// repeats its answer instead of its act.
func submit(ctx context.Context, env *Env, gateway *client, body []byte, key string) (*answer, error) {
	quoted, _ := json.Marshal(key) // a structured string's escapes are JSON's for printable ASCII
	header := http.Header{"Idempotency-Key": {string(quoted)}}
	a, err := gateway.do(ctx, http.MethodPost, "/v1/messages", body, header)
	if !errors.Is(err, errLost) {
		return a, err
	}
	_, _ = fmt.Fprintln(env.Stderr, "einmal: the answer was lost; asking once more with the same idempotency key, which sends nothing twice")
	a, err = gateway.do(ctx, http.MethodPost, "/v1/messages", body, header)
	if errors.Is(err, errLost) {
		return nil, &failure{code: exitUnreachable, text: "the answer was lost again: it is not known whether the message was taken",
			next: "run the same command with --idempotency-key " + key + "; it sends nothing twice"}
	}
	return a, err
}

// sent is the part of the answer that people want to see.
type sent struct {
	Decision struct {
		ID          string `json:"id"`
		Action      string `json:"action"`
		Class       string `json:"class"`
		Explanation string `json:"explanation"`
	} `json:"decision"`
	Message *struct {
		ID    string `json:"id"`
		State string `json:"state"`
	} `json:"message"`
	Simulated bool   `json:"simulated"`
	DryRun    bool   `json:"dry_run"`
	Parts     int    `json:"parts"`
	Encoding  string `json:"encoding"`
	UnitsLeft int    `json:"units_left"`
}

// showSize says what a text takes where that is asked for, or is more than people think.
func showSize(env *Env, got *sent) {
	switch {
	case got.DryRun && got.Parts > 0:
		_, _ = fmt.Fprintf(env.Stdout, "parts: %d, as %s, with room for %d more\n", got.Parts, clean(got.Encoding), got.UnitsLeft)
	case got.Parts > 1:
		_, _ = fmt.Fprintf(env.Stdout, "parts: %d, as %s\n", got.Parts, clean(got.Encoding))
	}
}

func showAnswer(env *Env, a *answer) error {
	var got sent
	if err := json.Unmarshal(a.body, &got); err != nil {
		return err
	}
	s, d := env.style(), got.Decision
	_, _ = fmt.Fprintf(env.Stdout, "%s (%s)", s.state(d.Action), clean(d.Class))
	if got.DryRun {
		_, _ = fmt.Fprint(env.Stdout, ", as a dry run: nothing was reserved")
	}
	if a.header.Get("Idempotency-Replayed") != "" {
		_, _ = fmt.Fprint(env.Stdout, ", as answered before")
	}
	_, _ = fmt.Fprintf(env.Stdout, "\n%s\n", clean(d.Explanation))
	showSize(env, &got)
	if got.Message != nil {
		_, _ = fmt.Fprintf(env.Stdout, "message %s: %s\n", clean(got.Message.ID), s.state(got.Message.State))
		next := "timeline " + clean(got.Message.ID)
		if d.Action != "allow" && !got.DryRun {
			next = "explain " + clean(d.ID)
		}
		_, _ = fmt.Fprintln(env.Stdout, s.faint("next: einmal "+next))
	}
	return nil
}
