package correct

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gauze-mcp/gauze/internal/repair"
)

// Kind is why a call was rejected.
type Kind string

// The kinds of rejections. The names are stable: policies contain them.
const (
	InvalidArguments Kind = "invalid-arguments" // argument validation failed
	MissingArgument  Kind = "missing-argument"
	UnknownArgument  Kind = "unknown-argument"
	WrongType        Kind = "wrong-type"
	OutOfRange       Kind = "out-of-range"
	UnknownChoice    Kind = "unknown-choice"
	WrongFormat      Kind = "wrong-format"
	Malformed        Kind = "malformed"     // text that is not JSON
	InvalidValue     Kind = "invalid-value" // the tool itself rejected a value

	Authentication Kind = "authentication"
	Permission     Kind = "permission"
	PathTraversal  Kind = "path-traversal"
	Security       Kind = "security"
	RateLimit      Kind = "rate-limit"
	Timeout        Kind = "timeout"
	Connection     Kind = "connection"
	Model          Kind = "model" // of a model that the tool uses
	Cancelled      Kind = "cancelled"
	NotFound       Kind = "not-found"
	Conflict       Kind = "conflict"
	UnknownTool    Kind = "unknown-tool"
	Internal       Kind = "internal"
	Unknown        Kind = "unknown"
)

// Class says what may be done about a rejected call.
type Class struct {
	Kind        Kind
	Correctable bool   // different arguments may help, and asking for them is harmless
	NoEffect    bool   // the server rejected the arguments before it ran the tool
	Reason      string // why, for people
}

// Rejection is how a call failed.
type Rejection struct {
	Text string // the server's words, or those of the repair gate
	Code int    // of a JSON-RPC error; 0 for a result that is an error
	// Unsent means that the repair gate rejected the call, so the server never received it.
	Unsent bool
	// BeforeRun means that the server provably rejected the arguments before it ran the tool; see
	// repair.Decision.RejectedBeforeRun.
	BeforeRun bool
}

// never reports whether no policy can list a kind.
func (k Kind) never() bool {
	switch k {
	case Authentication, Permission, PathTraversal, Security, RateLimit, Cancelled, UnknownTool, Unknown:
		return true
	}
	return !slices.Contains(Kinds(), k)
}

// Kinds returns all kinds, in the order of the table.
func Kinds() []Kind {
	kinds := []Kind{InvalidArguments, MissingArgument, UnknownArgument, WrongType, OutOfRange, UnknownChoice, WrongFormat}
	for _, s := range shapes() {
		if !slices.Contains(kinds, s.kind) {
			kinds = append(kinds, s.kind)
		}
	}
	return append(kinds, Unknown)
}

// shape is how a kind of failure looks. The first shape that matches counts.
type shape struct {
	kind        Kind
	correctable bool
	reason      string
	codes       []int          // JSON-RPC codes that are enough
	words       *regexp.Regexp // anywhere in the text
	complaint   bool           // matches what repair.IsComplaint recognizes
}

// thrown is how servers begin when a tool raised an exception.
const thrown = `^(?:\s*(?:MCP error -\d+: |Error: |Error executing tool \S+: |Error calling tool '[^']{1,100}':? ?|Traceback[^\n]*\n(?:[ \t]+[^\n]*\n)*))*(?:[a-z_][\w]*\.)*`

// shapes is the table of failures. What must never be corrected is first, so that an argument
// complaint next to it does not count.
var shapes = sync.OnceValue(func() []shape {
	words := func(alternatives ...string) *regexp.Regexp {
		return regexp.MustCompile(`(?i)` + strings.Join(alternatives, "|"))
	}
	exact := func(pattern string) *regexp.Regexp { return regexp.MustCompile(pattern) }
	status := func(codes string) string {
		return `\b(?:HTTP(?:/\d(?:\.\d)?)?|status(?:[ _]?code)?|response code|error(?: code)?)["']?[ :=(]{1,3}["']?(?:` + codes + `)\b|\((?:` + codes + `)\)|^(?:` + codes + `)\b`
	}
	return []shape{
		{PathTraversal, false, "the path leaves the folders that the server allows", nil,
			words(`\bpath[ _-]?traversal`, `\bdirectory traversal\b`, `\b(?:path|file|directory) (?:is )?(?:outside|not (?:in|within|under|inside))\b[^\n]{0,60}\b(?:allowed|root|base|workspace|sandbox|director|vault)`,
				`\boutside (?:of )?(?:the )?(?:allowed|permitted|workspace|sandbox|root|base|vault)\b`, `\bescapes? (?:the |from )?(?:root|base|workspace|sandbox|vault|parent)\b`), false},
		{Security, false, "the server rejected the call for a security reason", nil,
			words(`\bsecurity (?:error|violation|policy|exception|restriction|check)\b`, `\bSecurityError\b`, `\b(?:sql|command|shell|code|prompt) injection\b`, `\bblocked (?:by|for) (?:security|policy|safety|content|the (?:firewall|admin))`,
				`\b(?:policy|content policy) (?:violation|den)`, `\bdenied by (?:policy|the policy|rule|admin)`, `\bunsafe (?:path|command|query|operation|url|input)\b`, `\bnot allow-?listed\b`, `\b(?:not in|missing from) the (?:allow|white)-?list\b`,
				`\bdeny-?list(?:ed)?\b`, `\bblack-?listed\b`, `\bssrf\b`, `\bcsrf\b`, `\bsandbox violation\b`, `\bmalicious\b`, `\bdangerous (?:command|operation|path|pattern)\b`, `\bcertificate (?:verif|has expired|is not trusted)`, `\bsignature (?:mismatch|verification|is invalid|does not match)\b`), false},
		{Authentication, false, "the server requires a valid login", []int{-32042},
			words(status(`401|407`), `\bunauthori[sz]ed\b`, `\bunauthenticated\b`, `\bnot (?:logged in|signed in|authenticated)\b`, `\bauthenti(?:cation|city)\b[^\n]{0,30}\b(?:fail|requir|error|invalid|expired|missing|needed|denied)`, `\bAuthentication(?:Error|Failed|Exception)\b`,
				`\b(?:invalid|incorrect|wrong|bad|expired|revoked|missing|no) (?:\w+ )?(?:api[ _-]?key|access[ _-]?token|auth(?:orization)?[ _-]?(?:token|header)|bearer|token|credentials?|password|session)\b`,
				`\b(?:api[ _-]?key|access[ _-]?token|token|credentials?|session|password)\b[^\n]{0,20}\b(?:invalid|incorrect|expired|revoked|rejected|missing|not (?:set|found|provided|valid)|required)\b`, `\blog ?in (?:is )?required\b`, `\bplease (?:log|sign) in\b`, `\bre-?authenticate\b`, `\bAuthError\b`), false},
		{Permission, false, "the server does not permit this", nil,
			words(status(`403|451`), `\bforbidden\b`, `\bpermission(?:s)? (?:\w+ )?(?:denied|error|required|missing)\b`, `\b(?:insufficient|missing|lacks?|no|without|not enough) (?:\w+ )?(?:permissions?|privileges?|scopes?|rights|access)\b`,
				`\baccess (?:is |was )?(?:denied|forbidden|not allowed|restricted)\b`, `\b(?:is|are|was) not (?:authori[sz]ed|permitted)\b`, `\bnot (?:authori[sz]ed|permitted) to\b`, `\b(?:operation|action) not permitted\b`, `\bPermissionError\b`, `\bAccessDenied\b`, `\bEACCES\b`, `\bEPERM\b`, `\bEROFS\b`,
				`\bread-only (?:mode|file ?system|server)\b`, `\b(?:you|user|client|tool|caller|account) (?:do(?:es)? not|don't|doesn't|cannot|may not|can't) have (?:permission|access|the right)`, `\bnot allowed to\b`, `\brequires? (?:admin|administrator|root|elevated|owner|approval|consent|confirmation)\b`), false},
		{RateLimit, false, "the server limits how often it is called", nil,
			words(status(`429`), `\brate[ _-]?limit`, `\btoo many (?:requests|calls|attempts)\b`, `\b(?:quota|usage limit)\b[^\n]{0,30}\b(?:exceed|exhaust|reached)`, `\bthrottl(?:ed|ing)\b`, `\bRateLimitError\b`, status(`402`), `\bpayment required\b`, `\binsufficient (?:funds|credits?|balance)\b`), false},
		{Model, false, "the model that the tool uses failed: different arguments do not help", nil,
			words(status(`529`), `(?-i:\b(?:LLM|LanguageModel|ChatModel)\w*(?:Error|Exception)\b)`, `\b(?:LLM|language model)\b[^\n]{0,40}\b(?:failed|error|overloaded|unavailable|timed out|did not (?:respond|answer|reply))\b`,
				`\boverloaded_error\b`, `\bOverloadedError\b`), false},
		{Timeout, false, "the call timed out: different arguments do not help", []int{-32001},
			words(status(`408|504`), `\btimed[ -]?out\b`, `(?-i:\b\w*Timeout(?:Error|Exception|Expired)\b|\b[A-Z]\w*Timeout(?:[:(]|$)|\bDEADLINE_EXCEEDED\b|\bDeadlineExceeded\b)`, `\b(?:connect|read|write|request|connection|gateway|operation) timeout\b`, `\bdeadline exceeded\b`, `\bETIMEDOUT\b`), false},
		{Connection, false, "a connection failed: different arguments do not help", []int{-32000},
			words(status(`502|503`), `(?-i:\b\w*(?:Connection|Connect|Connector|Network)(?:Refused|Reset|Aborted|Closed|Lost)?(?:Error|Exception)\b|\b\w*(?:Remote|Server)Disconnected(?:Error)?\b|\bcode = Unavailable\b)`, `\bBrokenPipeError\b`, `\bECONN(?:REFUSED|RESET|ABORTED)\b`, `\bENOTFOUND\b`, `\bEAI_AGAIN\b`, `\bEPIPE\b`, `\bENETUNREACH\b`, `\bEHOSTUNREACH\b`,
				`\bconnection (?:was |is |has been )?(?:refused|reset|closed|aborted|lost|failed|error)\b`, `\b(?:could not|cannot|can't|failed to|unable to) (?:connect|reach|resolve)\b`, `\bbroken pipe\b`, `\bsocket hang up\b`, `\bfetch failed\b`, `\bno such host\b`, `\bname or service not known\b`, `\b(?:network|host) (?:is )?unreachable\b`, `\b(?:service|temporarily) unavailable\b`, `\bbad gateway\b`), false},
		{Cancelled, false, "the call was cancelled", []int{-32800}, words(`\b(?:request|call|operation) (?:was )?cancel+ed\b`, `\bCancelledError\b`, `\bAbortError\b`), false},
		{UnknownTool, false, "the server does not have the tool", []int{-32601}, nil, false},
		{InvalidArguments, true, "argument validation failed", nil, nil, true},
		{NotFound, false, "what the call names does not exist, and only the caller knows what it meant", []int{-32002},
			words(status(`404|410`), `\bFileNotFoundError\b`, `\bNotFoundError\b`, `\bENOENT\b`, `\bno such (?:file|directory|table|column|key|bucket|branch|object|resource|record|user|issue)`, `\b(?:could|was|were|is|are|can) ?not (?:be )?found\b`, `\bnot found\b`, `\bdoes(?: not|n't) exist\b`), false},
		{Conflict, false, "the state of the server conflicts with the call", nil,
			words(status(`409|412`), `\balready exists\b`, `\bEEXIST\b`, `\bFileExistsError\b`, `\bmerge conflict\b`, `\bduplicate (?:key|entry)\b`, `\b(?:unique|foreign key) constraint\b`, `\bwas modified\b`), false},
		{Malformed, true, "the server could not parse a value", nil,
			exact(thrown + `(?:JSONDecodeError|SyntaxError: Unexpected token|Expecting value: line \d|Unexpected token .{1,20} in JSON at position|invalid character .{1,10} looking for beginning)`), false},
		{Internal, false, "the server failed for a reason of its own", []int{-32700, -32600, -32603},
			exact(thrown + `(?:KeyError|TypeError|AttributeError|RuntimeError|IndexError|NotImplementedError|AssertionError|NameError|ImportError|ModuleNotFoundError|OSError|IOError|MemoryError|ZeroDivisionError|UnicodeDecodeError|ReferenceError|RangeError|Exception|NullPointerException|panic:|Traceback)\b|(?i:` + status(`500|501|507`) + `|\binternal (?:server )?error\b|\bpanic:)`), false},
		{InvalidArguments, true, "the server reports invalid parameters", []int{-32602}, words(status(`400|422`), `\bbad request\b`, `\bunprocessable (?:entity|content)\b`), false},
		{InvalidValue, true, "the tool rejected a value", nil, exact(thrown + `(?:ValueError|ValidationError|InvalidArgument(?:Error|Exception)?|IllegalArgumentException|ArgumentError|InvalidInputError|ZodError|pydantic_core\S*)\b`), false},
	}
})

// maxScanned limits the text that is classified, in bytes. Longer text is the output of a tool.
const maxScanned = 64 << 10

// Classify returns the class of a rejection. Unknown kinds are not correctable.
func Classify(r Rejection) Class {
	if r.Unsent {
		return unsent(r)
	}
	unknown := Class{Kind: Unknown, Reason: "nothing says that different arguments would help"}
	if len(r.Text) > maxScanned {
		return unknown
	}
	for _, s := range shapes() {
		if !s.matches(r) {
			continue
		}
		c := Class{Kind: s.kind, Correctable: s.correctable, Reason: s.reason}
		if s.kind == InvalidArguments {
			c.Kind = detail(r.Text)
			c.NoEffect = s.complaint && r.BeforeRun
			if c.NoEffect {
				c.Reason = "the server rejected the arguments before it ran the tool"
			}
		}
		return c
	}
	return unknown
}

// ClassifyCall is Classify for a call whose schema is known. A tool may reject a value in words of its
// own: they count if they name an argument of the call and what is wrong with it.
func ClassifyCall(r Rejection, s *repair.Schema, arguments []byte) Class {
	c := Classify(r)
	if c.Kind == Unknown && s.Blames(arguments, r.Text) {
		return Class{Kind: InvalidValue, Correctable: true, Reason: "the tool rejected a value"}
	}
	return c
}

// unsent classifies a call that the repair gate rejected. Its text contains values of the caller,
// so words in it mean nothing.
func unsent(r Rejection) Class {
	c := Class{Kind: InvalidArguments, Correctable: true, NoEffect: true, Reason: "the call was not sent, because its arguments do not match the tool's schema"}
	first, _, _ := strings.Cut(r.Text, "\n")
	switch {
	case strings.Contains(first, "does not exist") && strings.Contains(first, "tool `"):
		return Class{Kind: UnknownTool, NoEffect: true, Reason: "the server does not have the tool"}
	case strings.HasSuffix(first, "its arguments are not JSON."):
		c.Kind = Malformed
	}
	return c
}

func (s *shape) matches(r Rejection) bool {
	switch {
	case s.kind == UnknownTool && repair.RejectsTool(r.Text):
		return true
	case s.complaint:
		return repair.IsComplaint(r.Text, true)
	case slices.Contains(s.codes, r.Code):
		return true
	}
	return s.words != nil && s.words.MatchString(r.Text)
}

// details tells the kinds of argument complaints apart, the most specific first. What several of
// them match is invalid-arguments.
var details = sync.OnceValue(func() []shape {
	words := func(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?i)` + pattern) }
	return []shape{
		{kind: MissingArgument, words: words(`\bField required\b|\bmissing(?: \d+)? required\b|\bis a required property\b|must have required property|\bmissing field\b|received undefined|\bis required\b|arguments dictionary is missing|\[type=missing`)},
		{kind: UnknownArgument, words: words(`\bunexpected keyword argument\b|\bunrecognized[ _]keys?\b|\badditional properties\b|\bextra inputs are not permitted\b|\bunknown (?:argument|parameter|field)|\bunexpected (?:argument|parameter)`)},
		{kind: UnknownChoice, words: words(`\bis not one of\b|\binvalid[ _]enum[ _]value\b|\bone of the (?:allowed|following)\b|\bunknown variant\b|must be equal to one of|\[type=(?:enum|literal_error)|\binvalid option\b`)},
		{kind: OutOfRange, words: words(`\b(?:greater|less) than\b|\btoo[ _](?:small|big|large|short|long|high|low)\b|\bmust be (?:[<>]=?)|\b(?:at least|at most)\b|\bout of range\b|\b(?:minimum|maximum) of\b`)},
		{kind: WrongFormat, words: words(`\bmatch (?:pattern|format)\b|\bdoes not match\b|\binvalid[ _](?:format|string|url|email|uuid|date(?:time)?)\b|\bis not a '|\bstring_pattern_mismatch\b|\bdate\w*_parsing\b`)},
		{kind: WrongType, words: words(`\bis not of types? '|\bexpected [a-z]+, received [a-z]+\b|\binput should be an? |\bmust be (?:an? )?(?:string|number|integer|boolean|object|array|list)\b|\binvalid[ _]type\b|\bcannot unmarshal\b|has type "|\[type=\w+_type`)},
	}
})

// detail returns the kind of an argument complaint.
func detail(text string) Kind {
	found := InvalidArguments
	for _, d := range details() {
		if !d.words.MatchString(text) {
			continue
		}
		if found != InvalidArguments {
			return InvalidArguments
		}
		found = d.kind
	}
	return found
}
