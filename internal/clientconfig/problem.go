package clientconfig

import (
	"cmp"
	"slices"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/redact"
)

// Problem is something in a client's file that keeps a server from working, or
// that will surprise somebody. No text in it shows a value that may be secret.
type Problem struct {
	Code         Code
	Severity     Severity
	Client       *Client
	File         string
	Line, Column int    // from 1; 0: of the file as a whole
	Server       string // empty: of the file
	What         string // one sentence
	Why          string
	Fix          Edit // nil: not for a program
	Consent      Consent
	Next         string // what a person does

	entry []any // its place in the document; nil: it is the file's
}

// needsEyes is for a fix that could, for all we know, break what works.
func (p *Problem) needsEyes() { p.Consent = max(p.Consent, Shown) }

// Severity is how bad it is.
type Severity int

const (
	Warning Severity = iota
	Error            // the client does not load it, or not as it is meant
)

func (s Severity) String() string { return [...]string{"warning", "error"}[s] }

// Consent is whose word a fix needs.
type Consent int

const (
	Form   Consent = iota // the same server, spelled as the client reads it: a yes is enough
	Shown                 // what is run, reached or sent changes, or others share the file: consent to the diff that was shown
	Person                // nothing a program should write
)

func (c Consent) String() string { return [...]string{"form", "shown", "person"}[c] }

// Code names a kind of problem. Codes stay as they are.
type Code string

// kind is what all problems of a code have in common.
type kind struct {
	severity Severity
	consent  Consent
	why      string
}

// catalogue has the words and the weight of every code.
var catalogue = map[Code]kind{
	"not-readable":    {Error, Person, "what cannot be read has no servers in it"},
	"broken-syntax":   {Error, Person, "the client reads nothing of a file it cannot parse"},
	"empty-file":      {Warning, Person, "some clients report an empty file as broken"},
	"comment":         {Error, Form, "the client reads plain JSON, and refuses the whole file because of a comment"},
	"trailing-comma":  {Error, Form, "the client refuses the whole file because of a comma with nothing behind it"},
	"byte-order-mark": {Warning, Form, "many JSON readers stop at these three invisible bytes at the beginning"},
	"duplicate-key":   {Warning, Person, "of two equal keys a reader takes the last, and says nothing of the first"},
	"old-place":       {Error, Person, "the client does not read this file any more"},
	"client-ended":    {Warning, Person, "the program is no longer made or was replaced"},

	"wrong-top-level-key": {Error, Shown, "the client looks for its servers under one name only"},
	"dotted-key":          {Error, Shown, "the dot belongs to the name of the key: it is one key, not one inside of the other"},
	"servers-not-a-map":   {Error, Shown, "the client expects the servers by name, not as a list"},
	"servers-not-a-list":  {Error, Shown, "the client expects a list of servers, each with its name inside"},
	"entry-not-an-object": {Error, Person, "an entry has members such as a command or a URL"},

	"nothing-to-start":     {Error, Person, "an entry needs a command to start or a URL to reach"},
	"command-and-url":      {Error, Person, "one entry is one server: either started or reached"},
	"url-without-type":     {Error, Form, "the client does not guess from the URL how the server speaks, or guesses the old way"},
	"type-missing":         {Error, Form, "the client wants to be told how the server speaks"},
	"type-spelling":        {Error, Form, "every client has its own word for the same transport"},
	"type-unknown":         {Error, Person, "the client knows no such transport"},
	"type-contradicts":     {Error, Shown, "the type says one thing and the rest of the entry another"},
	"transport-gone":       {Error, Person, "the client keeps the word for old files, and does not speak this transport any more"},
	"remote-not-supported": {Error, Shown, "this file takes programs only; a URL in it is ignored"},
	"bad-url":              {Error, Person, "the address cannot be reached as it is written"},
	"bad-header":           {Error, Person, "such a header cannot be sent"},

	"command-line-in-command": {Error, Shown, "the command is the name of one program; no shell takes it apart"},
	"args-not-a-list":         {Error, Shown, "arguments are a list of words; no shell takes a line apart"},
	"arg-not-text":            {Error, Form, "every argument is a text, numbers too"},
	"command-not-a-list":      {Error, Form, "the client wants the program and its arguments in one list"},
	"command-is-a-list":       {Error, Form, "the client wants the program in one member and its arguments in another"},
	"field-name":              {Error, Form, "the member has another name in this client, and under this one it is not read"},
	"old-field":               {Warning, Shown, "the client still reads the older name, and may stop to"},
	"unknown-field":           {Warning, Shown, "a member the client does not know is ignored without a word"},
	"needless-field":          {Warning, Shown, "the client no longer needs it"},
	"old-form":                {Warning, Shown, "this is the way older versions wrote it"},
	"field-missing":           {Error, Form, "the client wants this member in every entry"},
	"tools-missing":           {Warning, Shown, "its documentation wants a list of allowed tools, and what happens without one is told differently"},
	"switch-unknown":          {Warning, Shown, "the client does not know this switch, so the server is not switched off by it"},
	"name-refused":            {Warning, Person, "the file may say so, but commands that add, show or remove a server take only letters, digits, - and _"},
	"name-underscores":        {Warning, Person, "the client joins the names of server and tool with underscores, and rules about them go wrong"},

	"env-value-not-text":       {Error, Form, "the value of a variable is a text, numbers and true too"},
	"header-value-not-text":    {Error, Form, "the value of a header is a text"},
	"env-not-a-map":            {Error, Form, "variables are given by name, not as a list"},
	"env-refused":              {Error, Person, "the client does not let an entry set variables that decide what is loaded"},
	"secret-not-inherited":     {Warning, Shown, "the server gets only what its entry lists; this variable is set in your shell and does not reach it"},
	"inline-bearer-token":      {Error, Person, "the client refuses a token in the file and wants the name of a variable"},
	"foreign-reference":        {Error, Shown, "the client does not expand this way of writing a reference; the server gets it as it is written"},
	"reference-not-expanded":   {Warning, Person, "the client expands references, but not in this member"},
	"reference-needs-approval": {Warning, Person, "the client asks before it expands a variable, and leaves it as written until somebody agreed"},
	"unset-variable":           {Warning, Person, "the variable has no value here"},
	"input-missing":            {Error, Person, "the entry asks for an input that the file does not describe"},
	"placeholder-value":        {Warning, Person, "the value is an example's, to be replaced by your own"},
	"secret-in-shared-file":    {Warning, Person, "everybody who gets the project gets the secret"},

	"relative-path":        {Warning, Person, "the client starts its servers in a folder nobody promises"},
	"tilde":                {Warning, Shown, "only a shell makes a home folder of ~, and there is none in between"},
	"windows-needs-cmd":    {Error, Shown, "npx and its like are scripts on Windows, which the client cannot start by themselves"},
	"gui-path":             {Warning, Person, "apps started from the Dock do not have your shell's PATH"},
	"docker-without-input": {Error, Shown, "without -i the container does not hear its client"},
	"docker-detached":      {Error, Shown, "a detached container speaks to nobody"},
	"docker-terminal":      {Error, Shown, "with a terminal in between, messages are echoed and broken"},
	"timeout-unit":         {Warning, Shown, "the number reads as if it was meant in another unit"},
	"timeout-negative":     {Error, Shown, "a time below zero is refused"},
	"timeout-not-a-number": {Error, Form, "the client wants a plain number"},
	"timeout-out-of-range": {Warning, Shown, "the client cuts the number to what it allows"},
	"timeout-short":        {Warning, Form, "a package that has to be fetched first takes longer than that"},
	"not-approved":         {Warning, Person, "servers of a project wait until somebody approved them, and look dead until then"},
	"shadowed":             {Warning, Person, "of two servers with one name the client uses one"},
}

// Codes lists all there are.
func Codes() []Code {
	all := make([]Code, 0, len(catalogue))
	for code := range catalogue {
		all = append(all, code)
	}
	slices.Sort(all)
	return all
}

// quoted makes foreign text fit to stand in a Problem.
func quoted(text string) string { return "“" + redact.Quote(text) + "”" }

func sortProblems(all []Problem) {
	slices.SortStableFunc(all, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column, cmp.Compare(a.Code, b.Code))
	})
}

// Entries lists the problems for the catalogue.
func Entries() []fault.Entry {
	var all []fault.Entry
	for _, code := range Codes() {
		k := catalogue[code]
		remedy := fault.Step{Text: "Correct the file yourself; this shows where and what:", Command: "gauze doctor"}
		if k.consent < Person {
			remedy = fault.Step{Text: "See the change, and agree to it:", Command: "gauze doctor --fix"}
		}
		all = append(all, fault.Entry{Code: fault.Code(code), Kind: fault.KindConfig, Title: k.why, Do: []fault.Step{remedy}})
	}
	return all
}
