package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"
)

// bareRequest and bareAnswer are the members of a submission and of its answer.
type bareRequest struct {
	To      string `json:"to"`
	Purpose string `json:"purpose"`
	Event   struct {
		Type    string `json:"type"`
		ID      string `json:"id"`
		Version string `json:"version"`
	} `json:"event"`
	Sender   string `json:"sender"`
	Template struct {
		ID      string `json:"id"`
		Version string `json:"version"`
	} `json:"template"`
	Text          string `json:"text"`
	CorrelationID string `json:"correlation_id"`
}

type bareAnswer struct {
	Decision  bareDecision `json:"decision"`
	Guards    []string     `json:"guards"`
	Message   bareMessage  `json:"message"`
	Channel   string       `json:"channel"`
	Simulated bool         `json:"simulated"`
}

type bareDecision struct {
	ID            string `json:"id"`
	Action        string `json:"action"`
	Class         string `json:"class"`
	Reason        string `json:"reason"`
	Rule          string `json:"rule"`
	PolicyVersion string `json:"policy_version"`
	Explanation   string `json:"explanation"`
	WindowEnds    string `json:"window_ends"`
	SameText      *bool  `json:"same_text"`
}

type bareMessage struct {
	ID               string  `json:"id"`
	State            string  `json:"state"`
	ReportedDelivery *string `json:"reported_delivery"`
	Verified         *bool   `json:"verified"`
	Attempts         int     `json:"attempts"`
}

// sampleAnswer is what a bare handler answers to everything: as long as an answer of ours.
var sampleAnswer = bareAnswer{
	Decision: bareDecision{
		ID: "dec_0198f3d2a1b27c3d8e4f5a6b7c8d9e0f", Action: "allow", Class: "new_intent", Reason: "no_equivalent",
		Rule: "order_confirmation.window", PolicyVersion: "builtin@1", WindowEnds: "2026-12-31T10:00:00.123456Z",
		Explanation: "No message of the same intent is known in its window, so this one is new.",
	},
	Guards:  []string{},
	Message: bareMessage{ID: "msg_0198f3d2a1b27c3d8e4f5a6b7c8d9e0f", State: "pending"},
	Channel: "sms",
}

// bareHandler decodes a submission and answers it, and does nothing else: what every HTTP API in Go costs.
func bareHandler(w http.ResponseWriter, r *http.Request) {
	var in bareRequest
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.To == "" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(&sampleAnswer) // a client that is gone is the client's to notice
}

// ServeBare runs the bare handler until ctx ends. ready is told where it listens.
func ServeBare(ctx context.Context, ready func(address string)) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(bareHandler), ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	ready(l.Addr().String())
	if err := server.Serve(l); err != http.ErrServerClosed {
		return fmt.Errorf("the bare handler: %w", err)
	}
	return nil
}
