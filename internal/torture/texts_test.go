package torture_test

import (
	"math/rand/v2"
	"strings"

	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/torture/check"
)

// Words that texts are filled with: the second ones are not in the default alphabet, and the last are two units of
// UTF-16 each, so that cuts come between all kinds of characters.
var (
	plainWords   = []string{"is confirmed", "€5 {paid}", "[see you]", "ÄÖÜ ñ", "thank you"}
	foreignWords = []string{"подтверждён", "確認済み", "ευχαριστώ", "👍🏽", "🎉🎉"}
)

// textOf makes the text of an intent of so many parts, or one more: however it is cut, each part has its mark.
func textOf(rng *rand.Rand, event string, parts int, foreign bool) string {
	words := plainWords
	if foreign {
		words = foreignWords
	}
	text := check.Mark(event)
	for !marked(text, event, parts) {
		text += " " + words[rng.IntN(len(words))] + " " + check.Mark(event)
	}
	return text
}

// marked reports whether a text has enough parts, and each of them its mark.
func marked(text, event string, parts int) bool {
	for _, bits := range []gsm.ReferenceBits{gsm.Reference8, gsm.Reference16} {
		cut, err := gsm.Split(text, bits)
		if err != nil || len(cut.Parts) < parts {
			return false
		}
		for _, p := range cut.Parts {
			if !strings.Contains(p.Text, check.Mark(event)) {
				return false
			}
		}
	}
	return true
}
