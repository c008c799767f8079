package trial

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/domain/policy"
)

// example is what stands between two marks of the page about policies.
func example(t *testing.T, mark string) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)<!-- " + mark + " -->\n```[a-z]*\n(.*?)```\n<!-- /" + mark + " -->").FindSubmatch(text)
	if found == nil {
		t.Fatalf("docs/policies.md has no example marked %s", mark)
	}
	return string(found[1])
}

// The page's file is read as printed, and with each of its other examples the tests pass.
//
// covers: X3, D18
func TestExamplesOfThePage(t *testing.T) {
	file := example(t, "file")
	if results := run(t, file); len(results) != 0 {
		t.Errorf("%d tests", len(results))
	}
	passes(t, file+example(t, "tests"))
	passes(t, file+example(t, "mapping"))
}

// covers: X3
func TestErrorsOfThePage(t *testing.T) {
	_, wrong := policy.Parse("shop.yaml", []byte(example(t, "wrong")))
	if got := wrong.Error(); got != strings.TrimSpace(example(t, "errors")) {
		t.Errorf("the errors are\n%s", got)
	}
}

// Every field that a file may have is on the page.
func TestFieldsAreOnThePage(t *testing.T) {
	text, err := os.ReadFile("../../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	for word := range strings.FieldsSeq("policy version mode region unnamed purposes mapping tests kind key window while at_most on_other_text " +
		"name when api_key sender header member text matches capture event send expect at outcome of answer_lost would invalid") {
		if !regexp.MustCompile("[^a-z_]" + word + "[^a-z_]").Match(text) {
			t.Errorf("docs/policies.md does not speak of %s", word)
		}
	}
}
