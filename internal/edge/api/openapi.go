package api

import (
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/einmal/einmal/internal/ground/telemetry"
)

// description is what is said of the API as a whole.
func description() huma.Config {
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "Einmal", Version: telemetry.BuildVersion().Version,
			Description: "One intent, one message. Enumerations are open: accept unknown values. Lists are {data, next}. " +
				"Errors are problem documents (RFC 9457); x-problems lists them. A key that was revoked stops to work within a second. " +
				"/healthz, /readyz and /metrics ask for no key: load balancers, supervisors and scrapers have none, what they see " +
				"names no message and no tenant, and the gateway listens on loopback unless it is told otherwise.",
			License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
		},
		Components: &huma.Components{
			Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"key": {Type: "http", Scheme: "bearer", BearerFormat: "em_…", Description: "An API key. Its scopes are send, read, review and admin; admin holds all, review holds read."},
			},
		},
	}
	return huma.Config{
		OpenAPI: doc, OpenAPIPath: "/openapi",
		Formats: map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat}, DefaultFormat: "application/json",
	}
}

func needs(s Scope) []map[string][]string { return []map[string][]string{{"key": {string(s)}}} }

// schema describes a Go type.
func (a *API) schema(v any) *huma.Schema {
	t := reflect.TypeOf(v)
	return a.OpenAPI().Components.Schemas.Schema(t, true, t.Name())
}

// withBody describes a JSON body that the operation reads by itself.
func withBody(op huma.Operation, s *huma.Schema) huma.Operation {
	op.RequestBody = &huma.RequestBody{Required: true, Content: jsonContent(s)}
	op.SkipValidateBody = true
	op.MaxBodyBytes = maxBody
	return op
}

func jsonContent(s *huma.Schema) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{"application/json": {Schema: s}}
}

// describeFaults puts the table of faults into the description, in the form clients are generated from.
func (a *API) describeFaults() {
	rows := make([]map[string]any, len(faults))
	for i, f := range faults {
		rows[i] = map[string]any{"code": f.Code, "type": typePrefix + string(f.Code), "status": f.Status, "title": f.Title, "retryable": f.Retryable}
	}
	a.OpenAPI().Extensions = map[string]any{"x-problems": rows}
}

// The request and the answer of POST /v1/messages, for the description alone: they are read and written by hand.
type (
	submitBody struct {
		To            string            `json:"to" doc:"Destination, in E.164 or in the local form of region." example:"+12025550143"`
		Region        string            `json:"region,omitempty" doc:"ISO 3166-1, two letters; else the policy's." example:"DE"`
		Purpose       string            `json:"purpose,omitempty" doc:"A purpose of the policy in force. A request without one is mapped by the policy's rules, or is unnamed: sent, and only monitored." example:"order_confirmation"`
		Event         *submitEvent      `json:"event,omitempty" doc:"The business event; which parts are needed is the purpose's."`
		Sender        string            `json:"sender,omitempty" doc:"A name of up to 11 characters, a short code or a number; else the gateway's default." example:"SHOP"`
		Template      *submitTemplate   `json:"template,omitempty"`
		Text          string            `json:"text" doc:"One part has 160 characters of the GSM alphabet, or 70 if any other is among them; each part of a longer text has 153 or 67. The connection limits the number of parts, to 10 by default."`
		CorrelationID string            `json:"correlation_id,omitempty" example:"checkout-77f1"`
		ValidFor      string            `json:"valid_for,omitempty" doc:"How long it may wait to be sent." example:"1h"`
		Metadata      map[string]string `json:"metadata,omitempty" doc:"Echoed; means nothing to the gateway."`
		DryRun        bool              `json:"dry_run,omitempty" doc:"The decision only; nothing is reserved."`
	}
	batchBody struct {
		Messages []batchMessage `json:"messages" minItems:"1" maxItems:"256" nullable:"false"`
	}
	batchMessage struct {
		submitBody
		IdempotencyKey string `json:"idempotency_key,omitempty" maxLength:"255" doc:"As the header Idempotency-Key of a single request, and the same key as there."`
	}
	batchAnswer struct {
		Data []batchItem `json:"data" nullable:"false" doc:"An answer for each message, in the order of the messages."`
	}
	batchItem struct {
		Status      int           `json:"status" doc:"What a single request would have been answered with."`
		Replayed    bool          `json:"replayed,omitempty" doc:"This is the answer that the first request with this idempotency key got."`
		Answer      *submitAnswer `json:"answer,omitempty"`
		Problem     *Problem      `json:"problem,omitempty" doc:"In place of an answer. Pointers begin at the message."`
		RetryAfterS int           `json:"retry_after_s,omitempty" doc:"Where the same message may be sent again: after so many seconds."`
	}
	submitEvent struct {
		Type    string `json:"type,omitempty"`
		ID      string `json:"id,omitempty"`
		Version any    `json:"version,omitempty" doc:"A string or a whole number, which stands for its decimal text."`
	}
	submitTemplate struct {
		ID      string `json:"id,omitempty"`
		Version any    `json:"version,omitempty" doc:"A string or a whole number, which stands for its decimal text."`
	}
	submitAnswer struct {
		Decision  answerDecision `json:"decision"`
		Guards    []GuardView    `json:"guards" nullable:"false" doc:"What rules beside deduplication said."`
		Message   *answerMessage `json:"message" doc:"null only in a dry run that would allow or refuse."`
		Channel   string         `json:"channel"`
		Simulated bool           `json:"simulated"`
		Parts     int            `json:"parts,omitempty" doc:"How many parts the request's text is sent in."`
		Encoding  string         `json:"encoding,omitempty" doc:"How it goes over the air: gsm7 or ucs2. Accept unknown values."`
		DryRun    bool           `json:"dry_run,omitempty"`
		UnitsLeft int            `json:"units_left,omitempty" doc:"In a dry run: how many more units the last part has room for: septets in gsm7, where characters such as € and { take two; units of UTF-16 in ucs2."`
	}
	answerDecision struct {
		ID            *string `json:"id" doc:"null in a dry run."`
		Action        string  `json:"action"`
		Class         string  `json:"class"`
		Reason        string  `json:"reason"`
		Rule          string  `json:"rule"`
		PolicyVersion string  `json:"policy_version"`
		Explanation   string  `json:"explanation"`
		WindowEnds    *string `json:"window_ends" format:"date-time"`
		SameText      *bool   `json:"same_text"`
		Mode          string  `json:"mode" doc:"enforce, or monitor: a repeat is let through. Accept unknown values."`
		Would         *string `json:"would" doc:"What mode monitor did not do, such as suppress; in a dry run also what deduplication would have done where a rule refuses. null: what deduplication says is done."`
		ComparedWith  *string `json:"compared_with" doc:"The message that the request was compared with; null: there was none."`
		MappedBy      *string `json:"mapped_by" doc:"The policy's rule that gave purpose and event to a request without; null: none did."`
	}
	answerMessage struct {
		ID               string  `json:"id"`
		State            string  `json:"state"`
		ReportedDelivery *string `json:"reported_delivery"`
		Verified         *bool   `json:"verified"`
		Attempts         int     `json:"attempts"`
	}
)

func (a *API) registerSubmit() {
	const path = "/v1/messages"
	a.handle(Route{"POST", path, ScopeSend}, a.submit)
	o := withBody(op("POST", path, "submit-message", "Messages", "Submit an intent"), a.schema(submitBody{}))
	o.Description = "Equal intents meet in one message: the first is answered with 201, every other with 200, the message " +
		"that exists and the reason. Unknown members are refused."
	o.Security = needs(ScopeSend)
	o.Parameters = []*huma.Param{{
		Name: idempotencyHeader, In: "header", Schema: &huma.Schema{Type: "string"},
		Description: "Makes a retry of this very request safe, for at least 24 hours and until its message is final. Up to " +
			"255 printable ASCII characters, bare or as a structured string. Another request under the same key is refused with 422.",
	}}
	answer := jsonContent(a.schema(submitAnswer{}))
	replayed := map[string]*huma.Param{replayedHeader: {
		Schema: &huma.Schema{Type: "string"}, Description: "true: this is the answer that the first request with this idempotency key got.",
	}}
	o.Responses = map[string]*huma.Response{
		"200": {Description: "Suppressed, or a dry run: the message that exists, and why.", Content: answer, Headers: replayed},
		"201": {Description: "Allowed: a message was made.", Content: answer, Headers: replayed},
	}
	problem := map[string]*huma.MediaType{problemType: {Schema: a.schema(Problem{})}}
	for _, status := range []int{400, 401, 402, 403, 409, 413, 415, 422, 429, 500, 503} {
		o.Responses[strconv.Itoa(status)] = &huma.Response{Description: http.StatusText(status), Content: problem}
	}
	a.OpenAPI().AddOperation(&o)
}

func (a *API) registerBatch() {
	const path = "/v1/messages/batch"
	a.handle(Route{"POST", path, ScopeSend}, a.submitBatch)
	o := withBody(op("POST", path, "submit-batch", "Messages", "Submit many intents, with an answer for each"), a.schema(batchBody{}))
	o.Description = "Each message is decided as if it had come alone, in the order of the messages: of two equal ones the first makes " +
		"the message. One that is wrong concerns no other. Only a body that is no JSON, or has more than 256 messages, is refused as a whole."
	o.Security = needs(ScopeSend)
	o.MaxBodyBytes = maxBatchBody
	o.Responses = map[string]*huma.Response{"200": {Description: "An answer for each message.", Content: jsonContent(a.schema(batchAnswer{}))}}
	problem := map[string]*huma.MediaType{problemType: {Schema: a.schema(Problem{})}}
	for _, status := range []int{400, 401, 403, 413, 415, 500, 503} {
		o.Responses[strconv.Itoa(status)] = &huma.Response{Description: http.StatusText(status), Content: problem}
	}
	a.OpenAPI().AddOperation(&o)
}

// openAnswers lets every schema that is only answered have members that a client does not know: a later release may
// add some, and that must not break a client that was generated from this one. What is sent stays strict.
func (a *API) openAnswers() {
	sent := map[string]bool{}
	for _, item := range a.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if op == nil || op.RequestBody == nil {
				continue
			}
			for _, media := range op.RequestBody.Content {
				a.mark(sent, media.Schema)
			}
		}
	}
	for name, s := range a.OpenAPI().Components.Schemas.Map() {
		if !sent[name] && s.AdditionalProperties == false {
			s.AdditionalProperties = nil
		}
	}
}

// mark notes a schema that is sent, with all that it holds.
func (a *API) mark(sent map[string]bool, s *huma.Schema) {
	if s == nil {
		return
	}
	if s.Ref != "" {
		name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
		if !sent[name] {
			sent[name] = true
			a.mark(sent, a.OpenAPI().Components.Schemas.SchemaFromRef(s.Ref))
		}
		return
	}
	for _, p := range s.Properties {
		a.mark(sent, p)
	}
	a.mark(sent, s.Items)
}
