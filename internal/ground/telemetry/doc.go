// Package telemetry is how the gateway reports on itself: structured logs in which phone numbers and secrets
// are masked whatever way they got there, and a registry of metrics.
//
// Masking fails towards hiding: a run of digits that only looks like a number is cut to its last four. What
// must stay readable (ids, timestamps, hexadecimal codes, addresses with a port) is recognised by its shape.
package telemetry
