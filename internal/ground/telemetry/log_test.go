package telemetry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

const number, shown = "+12025550143", "•••0143"

type stringer struct{ n string }

func (s stringer) String() string { return "number " + s.n }

type valuer struct{ n string }

func (v valuer) LogValue() slog.Value { return slog.GroupValue(slog.String("n", v.n)) }

type marshaler struct{ n string }

func (m marshaler) MarshalText() ([]byte, error) { return []byte(m.n), nil }

// covers: X4
func TestLogMasksNumbersWhereverTheyStand(t *testing.T) {
	attrs := map[string]any{
		"string": number, "error": fmt.Errorf("submit: %w", errors.New("no route to "+number)),
		"stringer": stringer{number}, "pointer": &stringer{number}, "valuer": valuer{number}, "marshaler": marshaler{number},
		"struct": struct{ To string }{number}, "slice": []string{number}, "map": map[string]string{number: "x"},
		"group": slog.GroupValue(slog.Group("inner", slog.Any("deep", stringer{number}))),
	}
	for _, format := range []Format{JSON, Text} {
		for name, v := range attrs {
			var out bytes.Buffer
			NewLogger(&out, format, slog.LevelInfo).Info("x", name, v)
			if strings.Contains(out.String(), "202555") || !strings.Contains(out.String(), shown) {
				t.Errorf("%s %s: %s", format, name, out.String())
			}
		}
	}
}

func TestLogMasksMessageAndBoundAttributes(t *testing.T) {
	var out bytes.Buffer
	log := NewLogger(&out, JSON, slog.LevelInfo).With("to", number).WithGroup("g").With("from", number)
	log.Info("sent to " + number)
	if strings.Contains(out.String(), "202555") || strings.Count(out.String(), shown) != 3 {
		t.Error(out.String())
	}
}

// covers: D15
func TestLogReplacesSecrets(t *testing.T) {
	for _, key := range []string{"text", "code", "secret", "password", "Authorization", "token", "key"} {
		var out bytes.Buffer
		NewLogger(&out, JSON, slog.LevelInfo).Info("x", slog.Group("g", slog.String(key, "hunter2")))
		if strings.Contains(out.String(), "hunter2") || !strings.Contains(out.String(), maskedValue) {
			t.Errorf("%s: %s", key, out.String())
		}
	}
}

func TestLogKeepsWhatIsNoNumber(t *testing.T) {
	var out bytes.Buffer
	id := "msg_01980123456789012345678901234567"
	NewLogger(&out, JSON, slog.LevelInfo).Info("sent", "message", id, "took_us", 1234567890123, "payload", []byte(number), "none", (*stringer)(nil))
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if line["message"] != id || line["took_us"] != 1234567890123.0 || line["payload"] != "12 bytes" || line["none"] != "<nil>" {
		t.Error(out.String())
	}
}

func TestLogLevel(t *testing.T) {
	var out bytes.Buffer
	NewLogger(&out, Text, slog.LevelWarn).Info("x")
	if out.Len() != 0 {
		t.Error(out.String())
	}
}
