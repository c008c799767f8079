package strictjson

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParseRefuses(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1)
	many := "{" + strings.Repeat(`"a":1,`, maxMembers+5) + `"a":1}`
	if _, errs := Parse([]byte(many)); len(errs) != maxMembers || !strings.Contains(errs[len(errs)-1].Detail, "too many") {
		t.Error(len(errs), errs[len(errs)-1])
	}
	for name, c := range map[string]struct{ doc, pointer, says string }{
		"twice":           {`{"a":{"b":1,"b":2}}`, "#/a/b", "twice"},
		"twice escaped":   {`{"a":1,"\u0061":2}`, "#/a", "twice"},
		"trailing":        {`{} {}`, "#", "after"},
		"trailing comma":  {`{"a":1,}`, "#", "member's name"},
		"empty":           {``, "#", "ends"},
		"cut off":         {`{"a":"b`, "#/a", "ends"},
		"cut in escape":   {`{"a":"b\`, "#/a", "ends"},
		"deep":            {deep, "#" + strings.Repeat("/0", MaxDepth), "deep"},
		"NUL escaped":     {`{"a":"x\u0000"}`, "#/a", "U+0000"},
		"NUL raw":         {"{\"a\":\"x\x00\"}", "#/a", "U+0000"},
		"NUL in a name":   {`{"a\u0000":1}`, "#", "U+0000"},
		"control":         {"{\"a\":\"x\ny\"}", "#/a", "escape"},
		"utf-8":           {"{\"a\":\"\xff\"}", "#/a", "UTF-8"},
		"overlong":        {"{\"a\":\"\xc0\x80\"}", "#/a", "UTF-8"},
		"high alone":      {`["\ud83d"]`, "#/0", "surrogate"},
		"high then word":  {`["\ud83d\u0041"]`, "#/0", "surrogate"},
		"low alone":       {`["\ude00"]`, "#/0", "surrogate"},
		"bad escape":      {`["\x41"]`, "#/0", "escape"},
		"sign in escape":  {`["\u+041"]`, "#/0", "escape"},
		"leading zero":    {`[01]`, "#", "comma"},
		"bare minus":      {`[-]`, "#/0", "digit"},
		"open fraction":   {`[1.]`, "#/0", "digit"},
		"open exponent":   {`[1e]`, "#/0", "digit"},
		"NaN":             {`[NaN]`, "#/0", "value"},
		"single quotes":   {`{'a':1}`, "#", "double quotes"},
		"no colon":        {`{"a" 1}`, "#", "colon"},
		"comment":         {`{} // x`, "#", "after"},
		"byte order mark": {"\ufeff{}", "#", "value"},
	} {
		_, errs := Parse([]byte(c.doc))
		if len(errs) == 0 || errs[0].Pointer != c.pointer || !strings.Contains(errs[0].Detail, c.says) {
			t.Errorf("%s: %v", name, errs)
		}
	}
}

func TestParseReportsEverythingThatLeavesTheStructureClear(t *testing.T) {
	_, errs := Parse([]byte(`{"a":1,"a":2,"b":"\u0000","c":{"d":"\ud800"}}`))
	if len(errs) != 3 {
		t.Error(errs)
	}
}

// What comes after a mistake is read, as long as the structure is known.
func TestReadingGoesOnAfterAMistake(t *testing.T) {
	nested := func(open, end string) string {
		return strings.Repeat(open, 100_000) + "0" + strings.Repeat(end, 100_000)
	}
	for name, wrong := range map[string]string{
		"deep arrays": nested("[", "]"), "deep objects": nested(`{"a":`, "}"), "deep with brackets in a text": nested(`["]}",`, "]"),
		"too many members": "{" + strings.Repeat(`"a":1,`, maxMembers+5) + `"a":1}`, "NUL": `"\u0000"`, "surrogate": `"\ud800"`, "twice": `{"a":1,"a":2}`,
	} {
		v, errs := Parse([]byte(`[` + wrong + `,{"b":"it is read"}]`))
		if len(errs) == 0 || len(v.Elements) != 2 || len(v.Elements[1].Members) != 1 || v.Elements[1].Members[0].Value.Text != "it is read" {
			t.Errorf("%s: %v %.100v", name, errs, v)
		}
		for _, e := range errs {
			if e.Lost || !strings.HasPrefix(e.Pointer, "#/0") {
				t.Errorf("%s: %+v", name, e)
			}
		}
	}
	for _, doc := range []string{`[{"a":1,}, 2]`, `["\x"]`, nested("[", "}"), strings.Repeat("[", 100_000), nested(`["`, `]`)} {
		if _, errs := Parse([]byte(doc)); len(errs) == 0 || !errs[len(errs)-1].Lost {
			t.Errorf("%.40s: %v", doc, errs)
		}
	}
}

func TestErrorsRepeatNoValue(t *testing.T) {
	_, errs := Parse([]byte(`{"+12025550143":{"x":"\u0000"},"+12025550143":1}`))
	for _, e := range errs {
		if strings.Contains(e.Error(), "555") {
			t.Error(e)
		}
	}
	if len(errs) != 2 {
		t.Error(errs)
	}
}

func TestCanonicalIsOneForm(t *testing.T) {
	want := `{"a":[1,2.50,-0,1E+2,true,null],"b":{"x":"é\n\"\\😀/","y":"A"}}`
	for _, doc := range []string{
		want,
		` { "b" : { "y":"\u0041", "x" : "\u00e9\u000a\u0022\\\ud83d\ude00\/" } ,` + "\n\t" + `"a":[ 1 , 2.50, -0,1E+2, true ,null ] } `,
	} {
		v, errs := Parse([]byte(doc))
		if got := string(v.AppendCanonical(nil)); len(errs) > 0 || got != want {
			t.Errorf("%s %v", got, errs)
		}
	}
}

func TestStep(t *testing.T) {
	for name, want := range map[string]string{"event_id": "#/event_id", "12025550143": "#/?", "a/b": "#/?", "": "#/?", "v2": "#/v2"} {
		if got := Step("#", name); got != want {
			t.Errorf("%q: %s", name, got)
		}
	}
}

// FuzzParse compares with encoding/json: whatever is accepted here is JSON, and its canonical form means the
// same and is a fixed point. The structure of what is JSON is never lost.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.5e3,{"b":"\u00e9\ud83d\ude00"}],"c":null}`))
	f.Add([]byte("\"\u2028\x7f\""))
	f.Fuzz(func(t *testing.T, doc []byte) {
		v, errs := Parse(doc)
		if len(errs) > 0 {
			if errs[len(errs)-1].Lost && json.Valid(doc) {
				t.Fatalf("lost in what is JSON: %q %v", doc, errs)
			}
			return
		}
		if !json.Valid(doc) {
			t.Fatalf("accepted: %q", doc)
		}
		form := v.AppendCanonical(nil)
		again, errs := Parse(form)
		if len(errs) > 0 || string(again.AppendCanonical(nil)) != string(form) {
			t.Fatalf("not a fixed point: %q %v", form, errs)
		}
		var a, b any
		if json.Unmarshal(doc, &a) == nil && json.Unmarshal(form, &b) == nil {
			x, _ := json.Marshal(a)
			y, _ := json.Marshal(b)
			if string(x) != string(y) {
				t.Fatalf("%s became %s", x, y)
			}
		}
	})
}
