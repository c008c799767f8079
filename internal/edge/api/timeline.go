package api

import (
	"context"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// TimelineView is one line of a message's history.
type TimelineView struct {
	At      string `json:"at" format:"date-time"`
	AfterMs int64  `json:"after_ms" doc:"Milliseconds since the history's first line."`
	Kind    string `json:"kind" doc:"decision, attempt, exception, or the kind of an event: taken, outcome, late, receipt, repeated, overtaken, conflict, corrected, orphaned, returned, expired, failed, cancelled, closed, restored, requeued, resolved, rebuilt. Accept unknown values."`
	Summary string `json:"summary" doc:"What happened, in plain words."`

	N     int     `json:"n,omitempty" doc:"The event's number."`
	From  *string `json:"from,omitempty" doc:"The message's state before."`
	State *string `json:"state,omitempty" doc:"The message's state after."`

	Attempt    int     `json:"attempt,omitempty"`
	Part       int     `json:"part,omitempty"`
	Connection string  `json:"connection,omitempty"`
	Reference  *int32  `json:"reference,omitempty" doc:"Our own reference, as handed to the provider."`
	Outcome    string  `json:"outcome,omitempty"`
	Code       string  `json:"code,omitempty" doc:"Raw, of the provider's answer."`
	CodeName   string  `json:"code_name,omitempty"`
	ExternalID *string `json:"external_id,omitempty"`

	Receipt   *string `json:"receipt,omitempty"`
	Match     string  `json:"match,omitempty" doc:"By what the receipt was matched: external_id, normalised_id or own_reference."`
	Effect    string  `json:"effect,omitempty" doc:"What the receipt did: applied, repeated, late, conflicting or corrected."`
	Status    string  `json:"status,omitempty" doc:"Raw, of the receipt."`
	Reported  string  `json:"reported,omitempty" doc:"The receipt's normalised status."`
	ErrorCode string  `json:"error_code,omitempty" doc:"Raw, of the receipt."`

	Decision      *string `json:"decision,omitempty"`
	Action        string  `json:"action,omitempty"`
	Class         string  `json:"class,omitempty"`
	Reason        string  `json:"reason,omitempty" doc:"Of a decision, from a closed list; of a cancellation, the person's words."`
	Rule          string  `json:"rule,omitempty"`
	PolicyVersion string  `json:"policy_version,omitempty"`
	SameText      *bool   `json:"same_text,omitempty"`
	Would         string  `json:"would,omitempty" doc:"What mode monitor did not do."`
	MappedBy      string  `json:"mapped_by,omitempty" doc:"The policy's rule that gave purpose and event."`
	By            string  `json:"by,omitempty" doc:"Who did it."`

	Exception *string `json:"exception,omitempty"`
	Detail    string  `json:"detail,omitempty"`
	Bind      string  `json:"bind,omitempty" doc:"Over which bind an attempt left, where the connection has several."`

	place place
}

// maxHistory bounds how much of each kind is gathered for a timeline. A message has a dozen events; only its
// repeats can be many, and of those the newest are shown: /v1/decisions?message= has all.
const maxHistory = 1000

type timelineIn struct {
	ID    string `path:"id"`
	After string `query:"after" maxLength:"128" doc:"Where the page before ended: its next."`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"200" doc:"How many entries at most."`
}

// Timeline is a page of a message's history, the oldest first.
type Timeline struct {
	Data    []TimelineView `json:"data" nullable:"false"`
	Next    *string        `json:"next" doc:"Give it as after to get the next page; null: there is none."`
	Outlook string         `json:"outlook" doc:"What is known of the message now, what is still owed and what happens next, in plain words."`
	Parts
}

func (a *API) getTimeline(ctx context.Context, in *timelineIn) (Timeline, error) {
	id, err := parseID[ident.Message](in.ID)
	if err != nil {
		return Timeline{}, err
	}
	d := &decoder{}
	after := d.place(in.After)
	if err := d.fault(); err != nil {
		return Timeline{}, err
	}
	m, err := a.message(ctx, id)
	if err != nil {
		return Timeline{}, err
	}
	all, err := a.history(ctx, m.Message)
	if err != nil {
		return Timeline{}, err
	}
	inOrder(all)
	from, _ := slices.BinarySearchFunc(all, after, func(v TimelineView, p place) int {
		if v.place.compare(p) > 0 {
			return 1
		}
		return -1
	})
	page := timelinePage(all[from:], in.Limit)
	page.Parts = partsOf(m.Message)
	page.Outlook, _, err = a.prospect(ctx, m)
	return page, err
}

func timelinePage(rest []TimelineView, limit int) Timeline {
	if len(rest) <= limit {
		return Timeline{Data: rest}
	}
	next := rest[limit-1].place.String()
	return Timeline{Data: rest[:limit], Next: &next}
}

// inOrder sorts a history, and counts its times from the first line.
func inOrder(all []TimelineView) {
	slices.SortFunc(all, func(x, y TimelineView) int { return x.place.compare(y.place) })
	for i := range all {
		all[i].AfterMs = (all[i].place.at - all[0].place.at) / 1000
	}
}

// history gathers everything that is known about a message.
func (a *API) history(ctx context.Context, m *store.Message) ([]TimelineView, error) {
	tenant, id := m.Tenant, m.ID
	names, err := a.cfg.Store.ConnectionNames(ctx)
	if err != nil {
		return nil, err
	}
	events, err := a.cfg.Store.Events(ctx, tenant, id, 0, maxHistory)
	if err != nil {
		return nil, err
	}
	decisions, err := a.cfg.Store.Decisions(ctx, tenant, id, store.Page{Limit: maxHistory})
	if err != nil {
		return nil, err
	}
	exceptions, err := a.cfg.Store.Exceptions(ctx, tenant, store.ExceptionFilter{About: id}, store.Page{Limit: maxHistory})
	if err != nil {
		return nil, err
	}
	s := storyOf(m, names)
	all := make([]TimelineView, 0, len(events)+len(decisions)+len(exceptions)+len(m.Attempts))
	for _, d := range decisions {
		all = append(all, decisionLine(d))
	}
	for i := range events {
		all = append(all, eventLine(&events[i], s))
	}
	for i := range m.Attempts {
		all = append(all, attemptLine(&m.Attempts[i], s))
	}
	for _, x := range exceptions {
		all = append(all, exceptionLine(x))
	}
	return all, nil
}

// place is where a line stands: by time, then by kind, so that a decision comes before what it made, then by
// number.
type place struct {
	at   int64
	rank int
	n    string
}

func (p place) compare(o place) int {
	switch {
	case p.at != o.at:
		return int(max(-1, min(1, p.at-o.at)))
	case p.rank != o.rank:
		return p.rank - o.rank
	}
	return strings.Compare(p.n, o.n)
}

// String is the place as clients hand it back.
func (p place) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.at, 36) + " " + strconv.Itoa(p.rank) + " " + p.n))
}

func (d *decoder) place(after string) place {
	if after == "" {
		return place{at: -1}
	}
	raw, _ := base64.RawURLEncoding.DecodeString(after)
	words := strings.SplitN(string(raw), " ", 3)
	if len(words) == 3 {
		at, err := strconv.ParseInt(words[0], 36, 64)
		rank, rankErr := strconv.Atoi(words[1])
		if err == nil && rankErr == nil {
			return place{at, rank, words[2]}
		}
	}
	d.wrong("after", "not the next of a page: copy it whole")
	return place{}
}
