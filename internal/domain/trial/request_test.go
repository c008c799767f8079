package trial

import (
	"fmt"
	"strings"
	"testing"
)

// What the gateway refuses a test refuses, with the place of each mistake and what would be right.
//
// covers: X3
func TestRequestsThatTheGatewayRefuses(t *testing.T) {
	long := strings.Repeat("x", 129)
	results := run(t, purposes+`tests:
  - name: wrong
    send:
      - at: 0s
        purpose: alert
        region: XX
        valid_for: soon
        event: {id: `+long+`}
        template: {version: 1.5}
        metadata: {house: 7, open: true, on: "1"}
      - {at: 0s, purpose: alert, event: {id: 12, version: 3}, to: +12025550100, metadata: {n: 1_000}}
      - {at: 0s, purpose: alert, event: {id: "A\u200b1"}, text: "`+strings.Repeat("a", 1531)+`"}
      - {at: 0s, purpose: code, event: {version: 0x1F}, valid_for: 11m}
    expect: [allow, allow, allow, allow]
`)
	want := [][]string{
		{
			"15:17 region", "16:20 valid_for: write a duration from 1s to 72h", "17:21 event.id: at most 128 characters",
			"18:29 template.version: the API takes a string or a whole number: put it in quotes",
			"19:27 metadata.house: the API takes a string, not a number: put it in quotes", "19:36 metadata.open: the API takes a string, not a boolean",
		},
		{"20:46 event.id: the API takes a string, not a number", "20:67 to: the API takes a string, not a number", "20:95 metadata.n: the API takes a string, not a number"},
		{"21:46 event.id: leave out invisible characters", "21:65 text: it needs 11 parts, and at most 10 may be sent"},
		{"22:50 event.version: the API takes a string or a whole number", "22:68 valid_for: write a duration from 1s to 10m"},
	}
	got := results[0].Differences
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, d := range got {
		if d.Got != "invalid" || len(d.Wrong) != len(want[i]) {
			t.Errorf("request %d: %s, %+v", i+1, d.Got, d.Wrong)
			continue
		}
		for j, m := range d.Wrong {
			if s := fmt.Sprintf("%d:%d %s: %s", m.Line, m.Column, m.Member, m.Detail); !strings.HasPrefix(s, want[i][j]) {
				t.Errorf("request %d: %s, want %s", i+1, s, want[i][j])
			}
		}
	}
	if lines := Failures(results); !strings.Contains(lines[1], "and it is invalid: event.id (line 20, column 46): the API takes a string") {
		t.Errorf("%q", lines[1])
	}
}

// What the gateway takes for the same a test takes for the same, and for as long.
//
// covers: X3, D2, D7
func TestRequestsAreNormalised(t *testing.T) {
	passes(t, purposes+`
tests:
  - name: white space around names
    send:
      - {at: 0s, purpose: order, event: {id: "A-1", version: 2}}
      - {at: 1s, purpose: order, event: {id: "\u00a0A-1 ", version: "2"}}
      - {at: 2s, purpose: alert, event: {id: "  "}}
    expect: [allow new_intent, suppress technical_duplicate of 1, invalid]
  - name: how long it waits
    send:
      - {at: 0s, purpose: order, event: {id: A-1, version: "1"}, valid_for: 1h}
      - {at: 59m, purpose: order, event: {id: A-1, version: "1"}}
      - {at: 61m, purpose: order, event: {id: A-1, version: "1"}}
    expect: [allow new_intent, suppress technical_duplicate of 1, allow new_intent window_ended]
`)
}
