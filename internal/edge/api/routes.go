package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/einmal/einmal/internal/ground/fault"
)

// register adds every operation of this release.
func (a *API) register() {
	a.registerSubmit()
	a.registerBatch()
	add(a, op("GET", "/v1/messages", "list-messages", "Messages", "Find messages"), ScopeRead, a.listMessages)
	add(a, patient(op("GET", "/v1/messages/{id}", "get-message", "Messages", "One message with its attempts")), ScopeRead, a.getMessage)
	add(a, op("GET", "/v1/messages/{id}/timeline", "get-timeline", "Messages", "Everything that happened to a message, in order"), ScopeRead, a.getTimeline)
	add(a, withBody(op("POST", "/v1/messages/{id}/cancel", "cancel-message", "Messages", "Take a message back that was not sent yet"), a.schema(cancelBody{})), ScopeSend, a.cancelMessage)
	add(a, op("GET", "/v1/decisions", "list-decisions", "Decisions", "Find decisions"), ScopeRead, a.listDecisions)
	add(a, op("GET", "/v1/decisions/{id}", "get-decision", "Decisions", "One decision, with what it was compared with"), ScopeRead, a.getDecision)
	add(a, op("GET", "/v1/receipts", "list-receipts", "Receipts", "The log of what providers sent"), ScopeRead, a.listReceipts)
	add(a, op("GET", "/v1/receipts/{id}", "get-receipt", "Receipts", "One receipt as received"), ScopeRead, a.getReceipt)
	add(a, withBody(op("POST", "/v1/receipts/replay", "replay-receipts", "Receipts", "Read a piece of the log again, and let it have the effect that it has now"), a.schema(replayBody{})), ScopeAdmin, a.replayReceipts)
	add(a, op("GET", "/v1/exceptions", "list-exceptions", "Exceptions", "What the gateway could not settle by itself"), ScopeRead, a.listExceptions)
	add(a, op("GET", "/v1/exceptions/{id}", "get-exception", "Exceptions", "One exception, with what it can be resolved by"), ScopeRead, a.getException)
	a.registerWords()
	add(a, op("GET", "/v1/exception-groups", "list-exception-groups", "Exceptions", "Exceptions by hour, connection and kind, with their counts"), ScopeRead, a.listExceptionGroups)
	add(a, withBody(op("POST", "/v1/exception-groups/resolve", "resolve-exception-group", "Exceptions", "Resolve the open exceptions of a group together"), a.schema(resolveGroupBody{})), ScopeReview, a.resolveExceptionGroup)
	add(a, op("GET", "/v1/events", "list-events", "Events", "The feed of events, by sequence"), ScopeRead, a.listEvents)
	a.registerTenants()
	a.registerKeys()
	a.registerUsers()
	a.registerSenders()
	a.registerNumbers()
	a.registerWallet()
	add(a, op("GET", "/v1/policies", "list-policies", "Policies", "The versions of policies that were in force, the newest first"), ScopeAdmin, a.listPolicies)
	apply := withBody(op("POST", "/v1/policies", "apply-policy", "Policies", "Bring a policy file into force, for all nodes at once"), a.schema(policyBody{}))
	apply.MaxBodyBytes = maxPolicyBody
	add(a, apply, ScopeAdmin, a.applyPolicy)
	add(a, op("GET", "/v1/policies/{id}", "get-policy", "Policies", "A version of a policy with its file; current is the one in force"), ScopeAdmin, a.getPolicy)
	add(a, patient(op("GET", "/v1/handset/{number}", "get-handset", "Simulator", "What a simulated handset received")), ScopeRead, a.getHandset)
	add(a, withBody(op("POST", "/v1/handset/{number}/reply", "reply-from-handset", "Simulator", "Let a simulated handset answer"), a.schema(replyBody{})), ScopeSend, a.replyFromHandset)
	add(a, op("GET", "/v1/stops", "list-stops", "Stops", "Emergency stops, those that were lifted too"), ScopeAdmin, a.listStops)
	add(a, withBody(op("POST", "/v1/stops", "create-stop", "Stops", "Hold what waits, by tenant, purpose or connection, or all of it"), a.schema(stopBody{})), ScopeAdmin, a.createStop)
	add(a, withBody(op("DELETE", "/v1/stops/{id}", "lift-stop", "Stops", "Lift an emergency stop; it is kept, with who lifted it and why"), a.schema(liftBody{})), ScopeAdmin, a.liftStop)
	a.registerConnections()
	a.registerWebhooks()
	a.registerRestored()
	add(a, op("GET", "/healthz", "health", "Operation", "The process runs"), "", a.health)
	add(a, op("GET", "/readyz", "readiness", "Operation", "The gateway can take requests"), "", a.readiness)
	a.handle(Route{"GET", "/metrics", ""}, a.cfg.Metrics.Handler().ServeHTTP)
	a.handle(Route{"GET", "/handset/{number}", ""}, a.handsetPage)
	a.routes = append(a.routes, Route{"GET", "/openapi.json", ""})
	a.refuseTheRest()
}

func op(method, path, id, tag, summary string) huma.Operation {
	return huma.Operation{Method: method, Path: path, OperationID: id, Tags: []string{tag}, Summary: summary}
}

// body is what a handler's answer is wrapped in.
type body[T any] struct{ Body T }

// add registers an operation with the framework, behind its scope.
func add[In, Out any](a *API, op huma.Operation, scope Scope, handle func(context.Context, *In) (Out, error)) {
	a.routes = append(a.routes, Route{op.Method, op.Path, scope})
	more := op.Middlewares
	op.Middlewares = huma.Middlewares{onlyKnownQuery}
	op.Errors = []int{http.StatusBadRequest, http.StatusNotFound, http.StatusServiceUnavailable, http.StatusInternalServerError}
	if scope != "" {
		op.Middlewares = huma.Middlewares{a.guard(scope, whileSuspended(op.Method, op.Path)), onlyKnownQuery}
		op.Errors = append(op.Errors, http.StatusUnauthorized, http.StatusForbidden)
		op.Security = needs(scope)
	}
	op.Middlewares = append(op.Middlewares, more...)
	if op.RequestBody != nil {
		op.Middlewares = append(op.Middlewares, orEmptyObject)
	}
	op.Middlewares = append(op.Middlewares, takesItsTime)
	huma.Register(a.huma, op, func(ctx context.Context, in *In) (*body[Out], error) {
		out, err := handle(ctx, in)
		if err != nil {
			a.report(op.Path, err)
			return nil, problemOf(err)
		}
		return &body[Out]{out}, nil
	})
}

// handle registers a handler on the mux itself.
func (a *API) handle(r Route, h http.HandlerFunc) {
	a.routes = append(a.routes, r)
	a.mux.HandleFunc(r.Method+" "+r.Path, h)
}

// restful are the calls that change something and are open to a suspended tenant all the same: they hold back.
var restful = []string{"POST /v1/messages/{id}/cancel", "POST /v1/stops"}

// whileSuspended says that a call is answered to a suspended tenant, too.
func whileSuspended(method, path string) bool {
	return method == http.MethodGet || slices.Contains(restful, method+" "+path)
}

// guard lets only keys with the scope through.
func (a *API) guard(scope Scope, suspended bool) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(ctx)
		who, err := a.keyring.admit(r, scope, suspended)
		if err != nil {
			a.report(ctx.Operation().Path, err)
			writeProblem(w, err)
			return
		}
		next(huma.WithValue(ctx, principalKey{}, who))
	}
}

// otherMethods are those of RFC 9110 and RFC 5789 that a resource may lack. They are named, since a path such as
// /v1/messages/batch for all methods would contradict /v1/messages/{id} for one.
var otherMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// refuseTheRest answers wrong methods and unknown paths with problem documents; under /v1 only to those who
// have a key.
func (a *API) refuseTheRest() {
	methods := map[string][]string{}
	for _, r := range a.routes {
		methods[r.Path] = append(methods[r.Path], r.Method)
	}
	for path, allowed := range methods {
		if slices.Contains(allowed, "GET") {
			allowed = append(allowed, "HEAD")
		}
		slices.Sort(allowed)
		allow := strings.Join(allowed, ", ")
		for _, method := range otherMethods {
			if slices.Contains(allowed, method) {
				continue
			}
			a.mux.HandleFunc(method+" "+path, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Allow", allow)
				writeProblem(w, fault.New(methodNotAllowed, "this resource has %s", allow))
			})
		}
	}
	a.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		err := error(fault.New(fault.NotFound, "no such path: see /openapi.json"))
		if strings.HasPrefix(r.URL.Path, "/v1/") {
			if _, keyErr := a.keyring.identify(r); keyErr != nil {
				err = keyErr
			}
		}
		writeProblem(w, err)
	})
}
