package clientconfig

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/redact"
)

// Problem is a mistake in a client's file that keeps a server from working, or that will surprise
// the user. Its texts never contain a value that may be secret.
type Problem struct {
	Code         Code
	Severity     Severity
	Client       *Client
	File         string
	Line, Column int    // from 1; 0 if the problem concerns the whole file
	Server       string // empty if the problem concerns the file
	What         string // one clause, without a full stop
	Why          string // one clause that also reads well after "What (line N): "
	Fix          Edit   // nil if a program cannot fix it
	Consent      Consent
	Next         string // what the user can do

	entry []any // path of the entry in the document; nil if the problem concerns the file
}

// needsReview marks a fix that might break something that works.
func (p *Problem) needsReview() { p.Consent = max(p.Consent, Shown) }

// Severity is how serious a problem is.
type Severity int

const (
	Warning Severity = iota
	Error            // the client does not load the entry, or does not load it as intended
)

func (s Severity) String() string { return [...]string{"warning", "error"}[s] }

// Consent is how much confirmation a fix needs.
type Consent int

const (
	Form   Consent = iota // the same server in the client's own spelling: a general confirmation is enough
	Shown                 // the fix changes what is run, reached or sent, or others share the file: the user must review the diff
	Person                // no program should write it
)

func (c Consent) String() string { return [...]string{"form", "shown", "person"}[c] }

// Code identifies a kind of problem. Codes never change.
type Code string

// kind is what all problems with the same code have in common.
type kind struct {
	severity Severity
	consent  Consent
	why      string
	remedy   string // what the user can do, for problems that a program does not fix
}

// catalogue has the severity and the texts of every code.
var catalogue = map[Code]kind{
	"not-readable":    {Error, Person, "gauze cannot check a file that it cannot read", "check the file's owner and permissions"},
	"broken-syntax":   {Error, Person, "the client cannot parse this file, so it loads no servers from it", "correct the syntax error"},
	"empty-file":      {Warning, Person, "some clients report an error for an empty configuration file", "write {} to the file, or delete it"},
	"comment":         {Error, Form, "the client expects plain JSON and rejects the whole file because of a comment", ""},
	"trailing-comma":  {Error, Form, "the client rejects the whole file because of a trailing comma", ""},
	"byte-order-mark": {Warning, Form, "many JSON parsers reject a byte order mark at the start of a file", ""},
	"duplicate-key":   {Warning, Person, "when a key appears twice, the client uses the last value and silently ignores the first", "keep one of the two keys and delete the other"},
	"old-place":       {Error, Person, "the client no longer reads this file", "move the servers to where the client reads them"},
	"client-ended":    {Warning, Person, "this client was discontinued or replaced", "no change is needed as long as the client works for you"},

	"wrong-top-level-key": {Error, Shown, "the client reads servers only from one top-level key", ""},
	"dotted-key":          {Error, Shown, "the dot is part of the key's name; the client does not read a nested key", ""},
	"servers-not-a-map":   {Error, Shown, "the client expects an object with one server per name, not a list", ""},
	"servers-not-a-list":  {Error, Shown, "the client expects a list of servers, each with a name field", ""},
	"entry-not-an-object": {Error, Person, "a server entry must be an object with a command or a URL", "write the entry as an object with a command or a URL"},

	"nothing-to-start":     {Error, Person, "a server entry needs a command to run or a URL to connect to", "add a command or a URL"},
	"command-and-url":      {Error, Person, "an entry describes one server, with either a command or a URL", "keep either the command or the URL"},
	"url-without-type":     {Error, Form, "without a type, the client skips the entry or assumes the older SSE transport", ""},
	"type-missing":         {Error, Form, "the client requires a transport type in every entry", ""},
	"type-spelling":        {Error, Form, "each client has its own name for this transport", ""},
	"type-unknown":         {Error, Person, "the client does not load an entry with an unknown transport type", "use a transport type that the client supports"},
	"type-contradicts":     {Error, Shown, "the transport type does not match the rest of the entry", ""},
	"transport-gone":       {Error, Person, "the client accepts this type in old files but no longer supports the transport", "use the server's Streamable HTTP endpoint"},
	"remote-not-supported": {Error, Shown, "the client only runs commands from this file and ignores URLs", ""},
	"bad-url":              {Error, Person, "the client cannot connect to this address as it is written", "write the address as https://host/path"},
	"bad-header":           {Error, Person, "this header cannot be sent over HTTP", "correct the header"},

	"command-line-in-command": {Error, Shown, "the command must be a single program; the client does not split it as a shell would", ""},
	"args-not-a-list":         {Error, Shown, "arguments must be a list of strings; the client does not split them as a shell would", ""},
	"arg-not-text":            {Error, Form, "every argument must be a string; numbers need quotes", ""},
	"command-not-a-list":      {Error, Form, "the client expects the program and its arguments in one list", ""},
	"command-is-a-list":       {Error, Form, "the client expects the program and its arguments in separate fields", ""},
	"field-name":              {Error, Form, "the client uses a different name for this field and ignores this one", ""},
	"old-field":               {Warning, Shown, "the client still reads the old name of this field but may stop doing so", ""},
	"unknown-field":           {Warning, Shown, "the client silently ignores fields that it does not recognize", ""},
	"needless-field":          {Warning, Shown, "the client no longer needs this field", ""},
	"old-form":                {Warning, Shown, "this is the format of older versions of the client", ""},
	"field-missing":           {Error, Form, "the client requires this field in every entry", ""},
	"tools-missing":           {Warning, Shown, "the client's documentation requires a list of allowed tools, and sources differ on what happens without one", ""},
	"switch-unknown":          {Warning, Shown, "a field that the client does not recognize cannot disable a server", ""},
	"name-refused":            {Warning, Person, "this name works in the file, but the client's own commands accept only letters, digits, - and _", "rename the server, using letters, digits, - and _"},
	"name-underscores":        {Warning, Person, "the client joins server and tool names with underscores, so a permission rule may match the wrong tool", "use - instead of _ in the name"},

	"env-value-not-text":       {Error, Form, "the value of an environment variable must be a string; numbers and booleans need quotes", ""},
	"header-value-not-text":    {Error, Form, "the value of a header must be a string", ""},
	"env-not-a-map":            {Error, Form, "environment variables must be an object that maps names to values, not a list", ""},
	"env-refused":              {Error, Person, "this client does not allow an entry to set variables that control which code is loaded", "set the variable outside the client, or use the program's full path"},
	"secret-not-inherited":     {Warning, Shown, "the server receives only the variables listed in its entry; this one is set only in your shell", ""},
	"inline-bearer-token":      {Error, Person, "the client rejects a token in the file; it expects the name of an environment variable", "store the token in an environment variable and put the variable's name in the entry"},
	"foreign-reference":        {Error, Shown, "the client does not expand references in this form and passes them to the server unchanged", ""},
	"reference-not-expanded":   {Warning, Person, "the client expands references, but not in this field", "write the value itself, or pass it in an environment variable"},
	"reference-needs-approval": {Warning, Person, "the client expands a variable only after you approve it", "approve the variable in the client's settings"},
	"unset-variable":           {Warning, Person, "the client cannot expand a reference to an environment variable that is not set", "set the variable where the client is started, or write its value in the entry"},
	"input-missing":            {Error, Person, "the client cannot ask for an input that the file does not define", `define the input under "inputs"`},
	"placeholder-value":        {Warning, Person, "a value from an example was not replaced with a real one", "replace the placeholder with your own value"},
	"secret-in-shared-file":    {Warning, Person, "everyone with access to the project can read this secret", "revoke the secret, create a new one, and keep it out of the project"},

	"relative-path":        {Warning, Person, "the client may start its servers in any directory, so a relative path may not resolve", "write the full path"},
	"tilde":                {Warning, Shown, "only a shell expands ~ to the home directory, and the client does not use one", ""},
	"windows-needs-cmd":    {Error, Shown, "npx and similar programs are scripts on Windows, and the client cannot run a script without cmd", ""},
	"gui-path":             {Warning, Person, "apps started from the Dock do not inherit your shell's PATH", "write the full path of the program"},
	"docker-without-input": {Error, Shown, "without -i, the container cannot read requests from the client", ""},
	"docker-detached":      {Error, Shown, "a detached container is not connected to the client", ""},
	"docker-terminal":      {Error, Shown, "a terminal echoes and corrupts the messages between client and server", ""},
	"timeout-unit":         {Warning, Shown, "the number seems to be in the wrong unit", ""},
	"timeout-negative":     {Error, Shown, "the client rejects a negative timeout", ""},
	"timeout-not-a-number": {Error, Form, "the client requires a number here", ""},
	"timeout-out-of-range": {Warning, Shown, "the client limits this timeout to its allowed range", ""},
	"timeout-short":        {Warning, Form, "downloading a package for the first time can take longer than the client waits", ""},
	"not-approved":         {Warning, Person, "the client does not start a project's servers until you approve them", "approve the server in the client"},
	"shadowed":             {Warning, Person, "when two servers have the same name, the client uses only one of them", "rename or remove one of them"},
}

// Codes lists all codes in alphabetical order.
func Codes() []Code {
	all := make([]Code, 0, len(catalogue))
	for code := range catalogue {
		all = append(all, code)
	}
	slices.Sort(all)
	return all
}

// quoted returns text from a file, cleaned and in quotation marks, for use in a Problem.
func quoted(text string) string { return "“" + redact.Quote(text) + "”" }

func sortProblems(all []Problem) {
	slices.SortStableFunc(all, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column, cmp.Compare(a.Code, b.Code))
	})
}

// Entries returns the problems as entries of the catalogue that gauze explain prints.
func Entries() []fault.Entry {
	var all []fault.Entry
	for _, code := range Codes() {
		k := catalogue[code]
		step := fault.Step{Text: "Review the change and confirm it:", Command: "gauze doctor --fix"}
		if k.consent == Person {
			step = fault.Step{Text: strings.ToUpper(k.remedy[:1]) + k.remedy[1:] + ". To see where:", Command: "gauze doctor"}
		}
		all = append(all, fault.Entry{Code: fault.Code(code), Kind: fault.KindConfig, Title: k.why, Do: []fault.Step{step}})
	}
	return all
}
