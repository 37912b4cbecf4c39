package faultyserver

// fault describes one named fault.
type fault struct {
	name  string
	about string
	// bare is the option that is set by a value without "key=".
	bare string
	// options lists the supported keys in addition to count and skip.
	options []string
	// kinds lists the values of kind=. Several are joined with +.
	kinds []string
	// defaults holds the values of options that are not set.
	defaults map[string]string
	// skip is the number of occasions before the fault first applies, unless skip= is set.
	skip int
	// atStart means that the fault is decided once, when a generation starts, and not on each
	// occasion.
	atStart bool
}

// faults is the table of faults, in the order of a server's life: start, handshake, traffic,
// output, lists, end.
var faults = []fault{
	{name: "exit-at-start", atStart: true, options: exitOptions, bare: "signal",
		about: "exits before reading anything"},
	{name: "exit-after", atStart: true, options: append([]string{"after", "n"}, exitOptions...), bare: "after",
		about: "exits after a delay (after=) or on reading message n+1 (n=), whichever comes first"},
	{name: "slow-start", atStart: true, options: []string{"after"}, bare: "after", defaults: map[string]string{"after": "1s"},
		about: "waits before reading anything"},
	{name: "daemonise", atStart: true,
		about: "starts itself as a child on the same stdio and exits with status 0"},

	{name: "exit-on-initialize", options: exitOptions, bare: "signal",
		about: "exits after reading initialize, before responding"},
	{name: "exit-after-initialize", options: exitOptions, bare: "signal",
		about: "exits after responding to initialize"},
	{name: "ignore-initialize",
		about: "never responds to initialize"},
	{name: "late-initialize", options: []string{"after"}, bare: "after", defaults: map[string]string{"after": "1s"},
		about: "responds to initialize after a delay; serves nothing else until then"},
	{name: "fail-initialize", options: []string{"code"}, bare: "code", defaults: map[string]string{"code": "-32603"},
		about: "responds to initialize with this error code"},
	{name: "exit-on-discover", options: exitOptions, bare: "signal",
		about: "exits after reading server/discover"},
	{name: "ignore-discover", options: []string{"calls"},
		about: "never responds to server/discover; calls= is how many tool calls come first"},
	{name: "late-discover", options: []string{"after"}, bare: "after", defaults: map[string]string{"after": "1s"},
		about: "responds to server/discover after a delay"},
	{name: "unsupported-version", options: []string{"to"}, bare: "to", defaults: map[string]string{"to": modernVersion},
		about: "rejects a modern request with -32022; data.supported is to=, versions joined with +"},
	{name: "other-version", atStart: true, skip: 1, options: []string{"to"}, bare: "to", defaults: map[string]string{"to": "2025-03-26"},
		about: "responds to initialize with version to=, whatever was requested, from the second start on"},
	{name: "drop-capability", atStart: true, skip: 1, options: []string{"to"}, bare: "to", defaults: map[string]string{"to": "resources"},
		about: "no longer has the capability to=, from the second start on"},

	{name: "hang", atStart: true, options: []string{"n", "calls"},
		about: "serves n messages, or calls= tool calls, then keeps reading but never responds again"},
	{name: "spin", atStart: true, options: []string{"n"},
		about: "serves n messages, then never responds again and uses one CPU"},
	{name: "stop-reading", atStart: true, options: []string{"n"},
		about: "serves n messages, then stops reading and leaves the rest in the pipe"},
	{name: "ignore-eof", atStart: true,
		about: "keeps running after stdin closes"},
	{name: "ignore-sigterm", atStart: true,
		about: "keeps running on SIGTERM"},

	{name: "stray", atStart: true, options: []string{"kind", "at"}, kinds: strayNames(), bare: "kind",
		defaults: map[string]string{"kind": "banner", "at": "start"},
		about:    "writes lines to stdout that are not responses, before the first message (at=start) or before every message (at=each)"},
	{name: "shape", atStart: true, options: []string{"kind"}, kinds: shapeNames(), bare: "kind",
		defaults: map[string]string{"kind": "crlf"},
		about:    "writes its own messages in an unusual form"},
	{name: "stderr", atStart: true, options: []string{"kind"}, kinds: stderrNames(), bare: "kind",
		defaults: map[string]string{"kind": "log"},
		about:    "writes a line to stderr at start"},
	{name: "stderr-flood", atStart: true, options: []string{"n"}, defaults: map[string]string{"n": "0"},
		about: "writes n bytes to stderr as fast as it can; 0: endlessly"},
	{name: "notify-storm", atStart: true, options: []string{"n"}, defaults: map[string]string{"n": "100000"},
		about: "sends n list_changed notifications after its first response"},

	{name: "tools-change", atStart: true, skip: 1, options: []string{"kind"}, kinds: []string{"add", "annotate", "describe", "remove", "schema"}, bare: "kind",
		defaults: map[string]string{"kind": "add+remove"},
		about:    "changes its tools from the second start on: adds extra, removes get, changes the annotations of append and die_read, the schemas of echo and die_read, the description of echo"},
	{name: "many-tools", atStart: true, options: []string{"n"}, defaults: map[string]string{"n": "10000"},
		about: "lists n more tools"},
	{name: "schema", atStart: true, options: []string{"kind"}, kinds: schemaNames(), bare: "kind",
		defaults: map[string]string{"kind": "cycle"},
		about:    "lists a tool whose input schema is costly to validate"},
	{name: "forget-resources", atStart: true, skip: 1, options: []string{"n"}, defaults: map[string]string{"n": "1"},
		about: "no longer has the last n resources, from the second start on"},

	{name: "grandchild", atStart: true, options: []string{"kind", "setsid", "after", "n"}, kinds: []string{"stdin", "stdout", "stderr"}, bare: "kind",
		defaults: map[string]string{"kind": "stdout+stderr", "after": "60s", "n": "1", "setsid": "false"},
		about:    "starts n sleeping children that hold these streams open for a time, even after the server exits"},
}

// exitOptions lists the options of how a process ends. A signal takes precedence over a code;
// stderr is written first.
var exitOptions = []string{"code", "signal", "stderr"}
