package message

import (
	"os"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/exception"
)

const document = "../../../docs/states.md"

// covers: D5, D16
func TestDocumentIsGenerated(t *testing.T) {
	want := Document() + exception.Document()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(document, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/states.md is not what the tables say; run UPDATE=1 go test ./internal/domain/message")
	}
}

func TestEveryMoveIsDrawn(t *testing.T) {
	drawn := strings.Count(Mermaid(), "-->")
	moves := 2 // the two beginnings
	for _, from := range States() {
		for _, to := range States() {
			if Allowed(from, to) {
				moves++
			}
		}
	}
	if drawn != moves {
		t.Errorf("%d moves are allowed, %d are drawn", moves, drawn)
	}
}
