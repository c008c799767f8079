package api

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/einmal/einmal/internal/ground/fault"
)

// methodNotAllowed is a fault of HTTP alone.
const methodNotAllowed fault.Code = "method_not_allowed"

// faultRow is what HTTP makes of one kind of fault.
type faultRow struct {
	Code      fault.Code
	Status    int
	Title     string
	Retryable bool // the same request may succeed later, unchanged
}

// faults is the one table from faults to HTTP. It is also part of the OpenAPI description.
var faults = []faultRow{
	{fault.Invalid, http.StatusBadRequest, "The request is not valid", false},
	{fault.Unauthenticated, http.StatusUnauthorized, "No valid API key", false},
	{fault.Funds, http.StatusPaymentRequired, "The message cannot be paid", false},
	{fault.Scope, http.StatusForbidden, "The API key may not do this", false},
	{fault.Team, http.StatusForbidden, "The API key does not reach this destination", false},
	{fault.Suspended, http.StatusForbidden, "The tenant is suspended", false},
	{fault.NotFound, http.StatusNotFound, "There is no such thing", false},
	{methodNotAllowed, http.StatusMethodNotAllowed, "Not a method of this resource", false},
	{fault.InProgress, http.StatusConflict, "The same request is being worked on", true},
	{fault.State, http.StatusConflict, "The state does not permit this", false},
	{fault.TooLarge, http.StatusRequestEntityTooLarge, "The body is too large", false},
	{fault.MediaType, http.StatusUnsupportedMediaType, "The body is not JSON", false},
	{fault.IdempotencyMismatch, http.StatusUnprocessableEntity, "The idempotency key belongs to another request", false},
	{fault.Limit, http.StatusTooManyRequests, "More than may be spent", false},
	{fault.Storm, http.StatusTooManyRequests, "The same message is asked for too often", true},
	{fault.Unavailable, http.StatusServiceUnavailable, "Not available at the moment", true},
	{fault.Internal, http.StatusInternalServerError, "A defect of the gateway", false},
}

func faultRowOf(code fault.Code) faultRow {
	for _, row := range faults {
		if row.Code == code {
			return row
		}
	}
	return faults[len(faults)-1]
}

// typePrefix makes a fault's code a URI (RFC 9457 §3.1.1). It is a name and leads nowhere.
const typePrefix = "urn:einmal:problem:"

// Problem is an error answer (RFC 9457). Nothing in it repeats a value of the request, which may be a number
// or a code.
type Problem struct {
	Type      string         `json:"type" doc:"urn:einmal:problem: and the code." example:"urn:einmal:problem:invalid_request"`
	Title     string         `json:"title" doc:"The kind of problem in a few words; the same for every occurrence."`
	Status    int            `json:"status" doc:"The HTTP status."`
	Detail    string         `json:"detail,omitempty" doc:"What is wrong in this case, for people."`
	Code      string         `json:"code" doc:"What kind of problem this is, for programs. More may be added: accept unknown ones."`
	Retryable bool           `json:"retryable" doc:"Whether the same request may succeed later, unchanged."`
	Message   *ProblemAbout  `json:"message,omitempty" doc:"The message that exists and is the answer to all such requests."`
	Decision  *ProblemReason `json:"decision,omitempty" doc:"The record of a refusal by a rule. Nothing was reserved: neither the intent nor the idempotency key."`
	Guards    []GuardView    `json:"guards,omitempty" doc:"What the rules beside deduplication said, in their order, up to the one that refused."`
	Errors    []ProblemField `json:"errors,omitempty" doc:"One entry for each wrong field."`

	headers http.Header
}

// ProblemAbout names what a problem is about.
type ProblemAbout struct {
	ID string `json:"id"`
}

// ProblemField is one wrong field.
type ProblemField struct {
	Pointer   string `json:"pointer,omitempty" doc:"JSON Pointer into the body, in fragment form." example:"#/event/id"`
	Parameter string `json:"parameter,omitempty" doc:"The query parameter or header."`
	Detail    string `json:"detail" doc:"What is wrong, and what would be right."`
}

// Error is the public text.
func (p *Problem) Error() string { return p.Title + ": " + p.Detail }

// GetStatus returns the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders returns Retry-After, WWW-Authenticate or Allow, where the problem has one.
func (p *Problem) GetHeaders() http.Header { return p.headers }

// ContentType is RFC 9457's, whatever was negotiated.
func (p *Problem) ContentType(string) string { return problemType }

const problemType = "application/problem+json"

// problemOf translates any error. What is no fault is a defect, and its text stays inside.
func problemOf(err error) *Problem {
	if p := (*Problem)(nil); errors.As(err, &p) {
		return p
	}
	var f *fault.Fault
	if !errors.As(err, &f) {
		f = &fault.Fault{Code: fault.Internal}
	}
	row := faultRowOf(f.Code)
	p := &Problem{
		Type: typePrefix + string(row.Code), Title: row.Title, Status: row.Status, Detail: f.Detail,
		Code: string(row.Code), Retryable: row.Retryable, headers: http.Header{},
	}
	if f.About != "" {
		p.Message = &ProblemAbout{f.About}
	}
	for _, field := range f.Fields {
		p.Errors = append(p.Errors, problemField(field))
	}
	if row.Retryable {
		p.headers.Set("Retry-After", retryAfter(f.RetryAfter))
	}
	if row.Code == fault.Unauthenticated {
		p.headers.Set("WWW-Authenticate", `Bearer realm="einmal"`)
	}
	return p
}

// problemField tells a place in the body from a parameter by its first character.
func problemField(f fault.Field) ProblemField {
	if f.Pointer != "" && f.Pointer[0] == '#' {
		return ProblemField{Pointer: f.Pointer, Detail: f.Detail}
	}
	return ProblemField{Parameter: f.Pointer, Detail: f.Detail}
}

// retryAfter is a delay in whole seconds (RFC 9110 §10.2.3), rounded up so that nobody comes too early.
func retryAfter(d time.Duration) string {
	return strconv.Itoa(max(1, int(math.Ceil(d.Seconds()))))
}

func writeProblem(w http.ResponseWriter, err error) {
	p := problemOf(err)
	for name, values := range p.headers {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client may be gone
}

// frameworkError makes a problem of what the framework refuses by itself. Its texts and values are dropped,
// since they repeat the request; the place stays.
func frameworkError(status int, _ string, errs ...error) huma.StatusError {
	code := fault.Internal
	switch {
	case status == http.StatusUnprocessableEntity:
		code = fault.Invalid
	case status >= 400 && status < 500:
		for _, row := range faults {
			if row.Status == status {
				code = row.Code
				break
			}
		}
	}
	f := &fault.Fault{Code: code}
	for _, err := range errs {
		var d *huma.ErrorDetail
		if errors.As(err, &d) {
			where, parameter, _ := strings.Cut(d.Location, ".")
			f.Fields = append(f.Fields, fault.Field{Pointer: parameterName(parameter), Detail: "not valid: see this " + where + " parameter in /openapi.json"})
		}
	}
	return problemOf(f)
}
