package taskrun

import "testing"

// Tasks work with servers of every era, and across their restarts.
func TestEras(t *testing.T) {
	for _, era := range []string{"legacy", "modern", "both"} {
		t.Run(era, func(t *testing.T) {
			b := begin(t, `
steps:
  - {id: a, server: s, tool: echo, arguments: {text: one}}
  - {id: b, server: s, tool: append, arguments: {key: "${a.text}"}}
  - {id: c, server: s, tool: die_read, arguments: {when: before-effect, key: two, times: 1}}
  - {id: d, server: s, tool: append, arguments: {key: three}}
`, "-era", era)
			b.want(b.run(nil), "done", 0)
			b.wantOnce("one", "two", "three")
		})
	}
}

// A modern server that requires input needs a person.
func TestInputRequired(t *testing.T) {
	b := begin(t, "steps: [{id: a, server: s, tool: ask_rounds}]", "-era", "modern")
	b.want(b.run(nil), "needs-person", 4)
}
