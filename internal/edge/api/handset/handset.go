// Package handset shows the phones of the simulated carrier: as JSON, and as a page for a developer's browser. The
// gateway serves it to those who hold a key; einmal smsc --http serves it by itself, on loopback alone.
package handset

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/domain/phone"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/provider"
)

// Message is a text that the handset shows.
type Message struct {
	N         int64  `json:"n" doc:"Counts what the handset received, from 1."`
	At        string `json:"at" format:"date-time"`
	From      string `json:"from" doc:"The sender as the handset shows it."`
	Text      string `json:"text" doc:"Whole, also where it is a code: this is the phone."`
	Parts     int    `json:"parts" doc:"How many parts it came in."`
	MessageID string `json:"message_id" doc:"The simulated SMSC's."`
}

// Messages is what a handset received, the oldest first.
type Messages struct {
	Number    string    `json:"number"`
	Data      []Message `json:"data" nullable:"false"`
	Simulated bool      `json:"simulated"`
}

// Reply is what became of a handset's answer.
type Reply struct {
	From         string `json:"from"`
	To           string `json:"to"`
	Taken        bool   `json:"taken" doc:"Whether a gateway has taken it; if not, it goes on being tried."`
	WhatHappened string `json:"what_happened" doc:"In plain words."`
	Simulated    bool   `json:"simulated"`
}

// Number reads a handset's number.
func Number(text, region string) (phone.Number, error) {
	n, err := phone.Parse(text, region)
	if err != nil {
		return n, wrong("number", "%s", err)
	}
	return n, nil
}

func digits(n phone.Number) string { return strings.TrimPrefix(n.E164(), "+") }

// Read lists what a handset received after the n-th message. Nothing yet: it waits for the first one, if it is
// given time.
func Read(ctx context.Context, phones provider.Phones, n phone.Number, after int64, wait time.Duration) Messages {
	if wait > 0 {
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		phones.Await(ctx, digits(n), after)
	}
	out := Messages{Number: n.E164(), Data: []Message{}, Simulated: true}
	for _, m := range phones.Received(digits(n), after) {
		out.Data = append(out.Data, Message{
			N: m.N, At: m.At.UTC().Format(time.RFC3339Nano), From: m.From, Text: m.Text, Parts: m.Parts, MessageID: m.MessageID,
		})
	}
	return out
}

// patience is how long an answer may take to be taken: it is one write to a store.
const patience = 10 * time.Second

// Answer sends a text from a handset. It goes to the sender of the newest message unless a number is named. stored
// says what whoever takes it does with it.
func Answer(ctx context.Context, phones provider.Phones, n phone.Number, to, text, stored string) (Reply, error) {
	to, err := receiver(phones, n, to)
	if err != nil {
		return Reply{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r := Reply{From: n.E164(), To: to, Taken: true, WhatHappened: stored, Simulated: true}
	err = phones.Answer(ctx, digits(n), strings.TrimPrefix(to, "+"), text)
	long := (*gsm.TooLongError)(nil)
	switch {
	case err == nil:
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		r.Taken, r.WhatHappened = false, "Nobody has taken it yet. The simulated SMSC goes on trying."
	case errors.Is(err, provider.ErrNobody):
		return Reply{}, fault.Wrap(err, fault.State, "no gateway is bound to the simulated SMSC, so nobody could receive it")
	case errors.As(err, &long):
		return Reply{}, wrong("#/text", "it needs %d parts, and a simulated handset sends texts of one", long.Parts)
	default:
		return Reply{}, wrong("#/text", "write text that can be sent by SMS")
	}
	return r, nil
}

// receiver is whom an answer goes to: a number, since no phone can answer a name.
func receiver(phones provider.Phones, n phone.Number, to string) (string, error) {
	if to == "" {
		all := phones.Received(digits(n), 0)
		if len(all) == 0 {
			return "", wrong("#/to", "the handset has received nothing that it could answer: name the number that the text goes to")
		}
		to = all[len(all)-1].From
		if !isNumber(to) {
			return "", wrong("#/to", "the newest message comes from a name, which no phone can answer: name the number that the text goes to")
		}
	}
	if !isNumber(to) {
		return "", wrong("#/to", "write a number or a short code: digits, with or without a plus sign")
	}
	return to, nil
}

// isNumber takes what SMPP can address by digits: 3 to 15 of them.
func isNumber(s string) bool {
	s = strings.TrimPrefix(s, "+")
	return len(s) >= 3 && len(s) <= 15 && strings.Trim(s, "0123456789") == ""
}

func wrong(pointer, format string, args ...any) error {
	f := fault.New(fault.Invalid, "one field is wrong")
	f.Fields = []fault.Field{{Pointer: pointer, Detail: fmt.Sprintf(format, args...)}}
	return f
}
