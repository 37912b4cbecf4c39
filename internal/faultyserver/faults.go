package faultyserver

// fault is one named way to fail.
type fault struct {
	name  string
	about string
	// bare is the option that a word without "key=" fills.
	bare string
	// options are the keys it understands besides count and skip.
	options []string
	// kinds are the words allowed in kind=, several joined with +.
	kinds []string
	// defaults are used for options that are not given.
	defaults map[string]string
	// skip is how many occasions pass before it first applies, unless skip= says otherwise.
	skip int
	// atStart: it is decided once, when a generation starts; otherwise each time it could happen.
	atStart bool
}

// faults is the table. The order is the life of a server: start, handshake, traffic, output, lists, end.
var faults = []fault{
	{name: "exit-at-start", atStart: true, options: exitOptions, bare: "signal",
		about: "exits before it reads anything"},
	{name: "exit-after", atStart: true, options: append([]string{"after", "n"}, exitOptions...), bare: "after",
		about: "exits after a time (after=) or when it reads message n+1 (n=), whatever comes first"},
	{name: "slow-start", atStart: true, options: []string{"after"}, bare: "after", defaults: map[string]string{"after": "1s"},
		about: "waits before it reads anything"},
	{name: "daemonise", atStart: true,
		about: "starts itself again as a child on the same stdio and exits 0"},

	{name: "exit-on-initialize", options: exitOptions, bare: "signal",
		about: "exits when it has read initialize, before answering"},
	{name: "exit-after-initialize", options: exitOptions, bare: "signal",
		about: "exits when it has answered initialize"},
	{name: "ignore-initialize",
		about: "never answers initialize"},
	{name: "late-initialize", options: []string{"after"}, bare: "after", defaults: map[string]string{"after": "1s"},
		about: "answers initialize after a time; nothing else is served meanwhile"},
	{name: "fail-initialize", options: []string{"code"}, bare: "code", defaults: map[string]string{"code": "-32603"},
		about: "answers initialize with an error of this code"},
	{name: "exit-on-discover", options: exitOptions, bare: "signal",
		about: "exits when it has read server/discover"},
	{name: "ignore-discover",
		about: "never answers server/discover"},
	{name: "late-discover", options: []string{"after"}, bare: "after", defaults: map[string]string{"after": "1s"},
		about: "answers server/discover after a time"},
	{name: "unsupported-version", options: []string{"to"}, bare: "to", defaults: map[string]string{"to": modernVersion},
		about: "refuses a modern request with -32022; data.supported is to=, versions joined with +"},
	{name: "other-version", atStart: true, skip: 1, options: []string{"to"}, bare: "to", defaults: map[string]string{"to": "2025-03-26"},
		about: "answers initialize with version to= whatever was asked, from the second start on"},
	{name: "drop-capability", atStart: true, skip: 1, options: []string{"to"}, bare: "to", defaults: map[string]string{"to": "resources"},
		about: "no longer has the capability to=, from the second start on"},

	{name: "hang", atStart: true, options: []string{"n"},
		about: "serves n messages, then reads on but never answers again"},
	{name: "spin", atStart: true, options: []string{"n"},
		about: "serves n messages, then never answers again and burns one CPU"},
	{name: "stop-reading", atStart: true, options: []string{"n"},
		about: "serves n messages, then leaves the rest unread in the pipe"},
	{name: "ignore-eof", atStart: true,
		about: "stays alive when stdin ends"},
	{name: "ignore-sigterm", atStart: true,
		about: "stays alive on SIGTERM"},

	{name: "stray", atStart: true, options: []string{"kind", "at"}, kinds: strayNames(), bare: "kind",
		defaults: map[string]string{"kind": "banner", "at": "start"},
		about:    "writes lines to stdout that are no answers, before the first message (at=start) or before every one (at=each)"},
	{name: "shape", atStart: true, options: []string{"kind"}, kinds: shapeNames(), bare: "kind",
		defaults: map[string]string{"kind": "crlf"},
		about:    "writes its own messages in a way no parser expects"},
	{name: "stderr", atStart: true, options: []string{"kind"}, kinds: stderrNames(), bare: "kind",
		defaults: map[string]string{"kind": "log"},
		about:    "writes a line to stderr at start"},
	{name: "stderr-flood", atStart: true, options: []string{"n"}, defaults: map[string]string{"n": "0"},
		about: "writes n bytes to stderr as fast as it can; 0: without end"},
	{name: "notify-storm", atStart: true, options: []string{"n"}, defaults: map[string]string{"n": "100000"},
		about: "sends n list_changed notifications after its first answer"},

	{name: "tools-change", atStart: true, skip: 1, options: []string{"kind"}, kinds: []string{"add", "annotate", "describe", "remove", "schema"}, bare: "kind",
		defaults: map[string]string{"kind": "add+remove"},
		about:    "has other tools from the second start on: adds extra, removes get, re-annotates append and die_read, re-schemas echo and die_read, re-describes echo"},
	{name: "many-tools", atStart: true, options: []string{"n"}, defaults: map[string]string{"n": "10000"},
		about: "lists n more tools"},
	{name: "schema", atStart: true, options: []string{"kind"}, kinds: schemaNames(), bare: "kind",
		defaults: map[string]string{"kind": "cycle"},
		about:    "lists a tool whose input schema hurts validators"},
	{name: "forget-resources", atStart: true, skip: 1, options: []string{"n"}, defaults: map[string]string{"n": "1"},
		about: "no longer knows the last n resources, from the second start on"},

	{name: "grandchild", atStart: true, options: []string{"kind", "setsid", "after", "n"}, kinds: []string{"stdin", "stdout", "stderr"}, bare: "kind",
		defaults: map[string]string{"kind": "stdout+stderr", "after": "60s", "n": "1", "setsid": "false"},
		about:    "starts n sleeping children that hold these streams open for a time, after the server is gone too"},
}

// exitOptions: how a process ends. A signal wins over a code; stderr is said before.
var exitOptions = []string{"code", "signal", "stderr"}
