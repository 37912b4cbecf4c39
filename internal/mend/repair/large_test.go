package repair

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// largeSchema has two required arguments and n others.
func largeSchema(n int) string {
	var others strings.Builder
	for i := range n {
		fmt.Fprintf(&others, `,"option_%d":{"type":%q,"description":"Something about it","maxLength":9}`, i, []string{"string", "integer", "boolean"}[i%3])
	}
	return `{"type":"object","required":["name","size"],"examples":[{"name":"web","size":2},{"name":"wrong"}],"properties":{` +
		`"name":{"type":"string","minLength":3,"pattern":"^[a-z]+$"},"size":{"type":"integer","minimum":1,"maximum":9}` + others.String() + `}}`
}

// Of a tool with many arguments, those that matter are documented in full and the others by their types.
func TestLargeToolsAreDocumented(t *testing.T) {
	for _, n := range []int{13, 40, 400} {
		s := Compile([]byte(largeSchema(n)))
		text := s.Explain("deploy", s.Arguments([]byte(`{"name":"web","option_4":"x"}`), Options{}), 1).Text
		for _, line := range []string{
			"- name: string of at least 3 characters matching the pattern ^[a-z]+$ (required)", "- size: integer 1..9 (required)", "- option_4: integer",
			"- others: option_0, option_3, option_6",
		} {
			if !strings.Contains(text, "\n"+line) {
				t.Errorf("%d: no %q in\n%s", n, line, text)
			}
		}
		if last := text[strings.LastIndex(text, "\n"):]; n < 50 {
			if !strings.Contains(last, " (string); option_1, option_7") || !strings.Contains(last, " (integer); option_2, option_5") || !strings.HasSuffix(last, " (boolean)") {
				t.Errorf("%d: %s", n, last)
			}
		} else if !strings.HasSuffix(last, " more") {
			t.Errorf("%d: %s", n, last)
		}
		if len(text) > maxText {
			t.Errorf("%d: %d bytes", n, len(text))
		}
	}
}

// The report of a large tool keeps what is required, and the types of the others.
func TestLargeToolsAreReported(t *testing.T) {
	s := Compile([]byte(strings.ReplaceAll(largeSchema(58), "Something about it", strings.Repeat("Something about it. ", 20))))
	var report Report
	message := s.Explain("deploy", s.Arguments([]byte(`{"name":"web"}`), Options{}), 1)
	if err := json.Unmarshal(message.Data, &report); err != nil || report.Schema == nil {
		t.Fatalf("%v: %s", err, message.Data)
	}
	if len(report.Schema.Properties) != 60 || report.Schema.Properties["size"]["maximum"] != 9.0 || report.Schema.Properties["option_7"]["type"] != "integer" {
		t.Errorf("%v", report.Schema.Properties)
	}
}

// An issue has its kind and its constraints in words, and so have the arguments; examples are those of
// the schema that fit it.
func TestTheReportInWords(t *testing.T) {
	s := Compile([]byte(largeSchema(2)))
	var report Report
	if err := json.Unmarshal(s.Explain("deploy", s.Arguments([]byte(`{"name":"A1","size":12}`), Options{}), 1).Data, &report); err != nil {
		t.Fatal(err)
	}
	for i, want := range []Issue{
		{Field: "name", Type: groupRange, Problem: "it has 2 characters, which is too few; it does not match the pattern", Constraints: []string{"at least 3 characters", "matching the pattern ^[a-z]+$"}},
		{Field: "size", Type: groupRange, Problem: "it is too large", Constraints: []string{"from 1 to 9"}},
	} {
		got := report.Issues[i]
		if got.Field != want.Field || got.Type != want.Type || got.Problem != want.Problem || !slices.Equal(got.Constraints, want.Constraints) {
			t.Errorf("%+v", got)
		}
	}
	if got := fmt.Sprint(report.Schema.Properties["size"]["constraints"], report.Schema.Examples); got != "[from 1 to 9] [map[name:web size:2]]" {
		t.Errorf("%s", got)
	}
}

// The text of an issue says what has to be counted.
func TestTheTextSaysWhatIsWrong(t *testing.T) {
	s := Compile([]byte(largeSchema(0)))
	text := s.Explain("deploy", s.Arguments([]byte(`{"name":"a1","size":12}`), Options{}), 1).Text
	for _, part := range []string{
		`1. name - received "a1" (string): it has 2 characters, which is too few; it does not match the pattern; expected `,
		`2. size - received 12 (integer); expected integer 1..9`,
	} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

func TestExamplesWithSecretsAreNotShown(t *testing.T) {
	s := Compile([]byte(`{"type":"object","properties":{"n":{"type":"integer"},"password":{"type":"string"}},` +
		`"examples":[{"n":1,"password":"hunter2-hunter2"},{"n":2}]}`))
	message := s.Explain("log_in", s.Arguments([]byte(`{"n":"x"}`), Options{}), 1)
	if data := string(message.Data); strings.Contains(data, "hunter2") || !strings.Contains(data, `"examples":[{"n":2}]`) {
		t.Errorf("%s", data)
	}
}
