package task

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// testScope is a scope after the steps a, n, list and gone, inside a loop over item.
var testScope = scope{steps: []string{"a", "n", "list", "gone"}, later: []string{"b"}, item: "item"}

func testValues(t *testing.T) values {
	t.Helper()
	item, err := decode([]byte(`{"name": "x", "n": 1.50, "sub": {"list": [1, 2]}}`))
	if err != nil {
		t.Fatal(err)
	}
	return values{current: item, results: map[string]*Result{
		"a":    {list: []*Outcome{{Text: `{"ok": true, "no": false, "count": 3, "items": [{"k": "v"}], "none": null, "x.y": {"z.0": 5, "z": [6]}}`}}},
		"n":    {list: []*Outcome{{Text: "200"}}},
		"list": {loop: true, list: []*Outcome{{Text: "one", JSON: json.RawMessage(`{"x":1}`)}, {Text: "2"}}},
	}}
}

func TestFill(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                          `"plain"`,
		"${a.json.count}":                `3`,
		"${a.json.ok}":                   `true`,
		"${a.json.none}":                 `null`,
		"${a.json.items}":                `[{"k":"v"}]`,
		"${a.json.items.0.k}":            `"v"`,
		"n=${a.json.count}":              `"n=3"`,
		"${a.json.items.0}!":             `"{\"k\":\"v\"}!"`,
		"${item.name}/${item.n}":         `"x/1.50"`,
		"${item.sub.list.1}":             `2`,
		"${item}":                        `{"n":1.50,"name":"x","sub":{"list":[1,2]}}`,
		"${a.json.x.y.z.0}":              `6`,
		"${a.json.x.y}":                  `{"z":[6],"z.0":5}`,
		"${list.text}":                   `"one\n2"`,
		"${list.json}":                   `[{"x":1},2]`,
		"$${a.text} costs $5":            `"${a.text} costs $5"`,
		"${a.json.count}${a.json.count}": `"33"`,
		"":                               `""`,
	} {
		value, err := testValues(t).fill(text, testScope)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, _ := json.Marshal(value); string(got) != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestMissingValues(t *testing.T) {
	for text, want := range map[string]string{
		"${a.json.x.z}":         `a.json has no "x"`,
		"${gone.text}":          `${gone.text} has no value: step "gone" was skipped or failed, or its result is unknown`,
		"${a.json.cuont}":       `a.json has no "cuont"; did you mean "count"?`,
		"${a.json.items.1}":     `a.json.items has no "1"; it is a list of 1`,
		"${a.json.none.x}":      `a.json.none has no "x"; it is null`,
		"${a.json.count.x}":     `a.json.count has no "x"`,
		"${item.names}":         `item has no "names"`,
		"text ${a.json.nope}":   "no value",
		"${a.json.items.-1}":    "no value",
		"${item.sub.list.1e99}": "no value",
	} {
		_, err := testValues(t).fill(text, testScope)
		if err == nil || !errors.Is(err, errMissing) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func TestConditions(t *testing.T) {
	for text, want := range map[string]bool{
		"${a.json.ok}":                    true,
		"not ${a.json.ok}":                false,
		"not not ${a.json.ok}":            true,
		"${a.json.no}":                    false,
		"${a.json.none}":                  false,
		"${a.json.count}":                 true,
		"${a.json.items}":                 true,
		"${a.json.count} == 3":            true,
		"${a.json.count} == 3.0":          true,
		"${a.json.count} != 3":            false,
		"not ${a.json.count} == 3":        false,
		`${item.name} == "x"`:             true,
		"${item.name} == x":               true,
		"${item.name} == some words":      false,
		"${item.name} != ${a.text}":       true,
		"${a.json.none} == null":          true,
		`${a.json.items} == [{"k": "v"}]`: true,
		"exists ${a.json.none}":           true,
		"exists ${a.json.nope}":           false,
		"not exists ${gone.text}":         true,
		"${a.json.count} == \"3\"":        false,
		"${n.text} == 200":                true,
		"${n.text} == \"200\"":            true,
		"${n.text} != 200":                false,
		"${n.text} == 200.0":              false,
		"${n.text} == ${n.json}":          true,
		"${n.json} == ${n.text}":          true,
		"${n.json} == 200.0":              true,
	} {
		c, err := parseCondition(text, testScope)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := c.holds(testValues(t)); err != nil || got != want {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	c, err := parseCondition("${a.json.nope}", testScope)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.holds(testValues(t)); !errors.Is(err, errMissing) {
		t.Errorf("a missing value: %v", err)
	}
}
