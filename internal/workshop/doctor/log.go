package doctor

import (
	"cmp"
	"encoding/json"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// number is a number that a log may contain and that belongs into a case.
type number struct {
	expr string
	take func(c *Case, m *match)
}

// numbers are read before the causes are considered. Each pattern includes what the number is, because a number alone
// means nothing: process 40177 is not a 401.
var numbers = []number{
	{ // exit codes, as clients, shells, Go, Python and docker write them
		`(?i)\b(?:exit(?:ed|s)?(?: with)?(?: non-zero)?(?: exit)?(?: status)? code:?|exit status|exited with|exit code was|returned ` +
			`non-zero exit status|terminated with code|process exited:? code|closed with code|code=)[ =:(]*(?P<code>-?\d{1,10}|0x[0-9a-fA-F]{8})\b`,
		func(c *Case, m *match) {
			if code, err := strconv.ParseInt(m.names["code"], 0, 64); err == nil {
				c.Exit.Known, c.Exit.Code, c.Exit.Said = true, int(code), m.said
			}
		},
	},
	{
		`(?:signal[:= '"]+|by signal |\bsignal |Received )(?P<signal>SIG[A-Z]{2,7}|killed|segmentation fault|aborted|bus error|illegal ` +
			`instruction)\b`,
		func(c *Case, m *match) {
			c.Exit.Known, c.Exit.Code, c.Exit.Signal, c.Exit.Said = true, -1, m.names["signal"], m.said
		},
	},
	{ // Node's spawn errors
		`\bspawn(?:Sync)? (?:(?P<path>[^"'{}\[\]|,]{1,300}?) )?(?P<errno>ENOENT|EACCES|EPERM|EINVAL|ENOEXEC|ENOTDIR|E2BIG|EMFILE|EAGAIN|` +
			`ENOMEM|UNKNOWN|EBADF|ELOOP|ENAMETOOLONG|EFTYPE)\b`,
		func(c *Case, m *match) {
			c.Spawn = Spawn{Errno: m.names["errno"], Path: m.names["path"], Said: m.said}
		},
	},
	{ // a status in a sentence, a log line of a web server, an exception
		`(?i)(?:\bHTTP(?:/\d(?:\.\d)?)?["']?[ :,]+|\bHTTP error:? |\bHTTP status:? |\bstatus(?:[ _]?code)?"?[:= (]+(?:code )?|\bstatus of |` +
			`\bError:? |\bcode"?: ?|\berror code: |\bserver (?:error|returned|responded with):? )(?P<status>[1-5]\d\d)\b(?:[ ` +
			`:]+(?P<words>[A-Z][A-Za-z' -]{2,30}))?`,
		takeStatus,
	},
	{
		`\b(?P<status>[345]\d\d)[ :]+(?:status\b|\(?(?:Unauthorized|Forbidden|Not Found|Method Not Allowed|Not Acceptable|Bad Request|` +
			`Temporary Redirect|Permanent Redirect|Moved Permanently|Unsupported Media Type|Misdirected Request|Too Many Requests|Internal ` +
			`Server Error|Bad Gateway|Service Unavailable|Gateway Time-?out|Payment Required|Request Timeout|Conflict|Gone|Found)\b|\{")`,
		takeStatus,
	},
	{ // a request line of a web framework, and statuses after their text
		`(?:\b(?:GET|POST|DELETE|PUT|HEAD) \S+ (?:HTTP/[\d.]+"? )?|(?i:not found|unauthorized|forbidden|not allowed|bad request|` +
			`unavailable|redirect|\bgot|received|\bbut was|via SSE:|failed:|failed with(?: status| code| HTTP)?) \(?)(?P<status>[1-5]\d\d)\b`,
		takeStatus,
	},
	{ // JSON-RPC errors as the SDKs word them
		`(?i)\bMcp ?error:? (?:MCP error )?(?P<code>-\d{5})(?:: ?(?P<message>[^\n]{0,300}))?`,
		takeRPC,
	},
	{
		`"code" ?: ?(?P<code>-\d{5}) ?, ?"message" ?: ?"(?P<message>[^"\n]{0,300})`,
		takeRPC,
	},
	{
		`\(?\b(?:error )?code:? (?P<code>-32\d{3})\b[ ):,]*(?P<message>[^\n]{0,300})`,
		takeRPC,
	},
}

// accessLine matches an entry of a web server's access log.
var accessLine = regex.New(`"?\b(?:GET|POST|PUT|DELETE|HEAD|OPTIONS|PATCH) (?P<path>/\S*)(?: HTTP/[\d.]+)?"?[ :-]+(?:HTTP/[\d.]+ ` +
	`)?\d{3}\b|\b\d{3} \|[^\n]*\| +(?:GET|POST) +"(?P<other>/\S*)"`)

// anAnswer reports whether a line can be about a response to the client: the access log of a server
// has the responses to all of its clients.
func anAnswer(m *match) bool {
	visit := accessLine.FindStringSubmatch(m.said)
	return visit == nil || endpointPath.MatchString(visit[1]+visit[2])
}

var endpointPath = regex.New(`(?i)/(?:mcp|sse|messages?|rpc|stream|http)\b|^/[?]?$`)

func takeStatus(c *Case, m *match) {
	if !anAnswer(m) {
		return
	}
	status, _ := strconv.Atoi(m.names["status"])
	if !slices.ContainsFunc(c.HTTP, func(known HTTP) bool { return known.Status == status }) {
		c.HTTP = append(c.HTTP, HTTP{Status: status, Said: m.said})
	}
}

func takeRPC(c *Case, m *match) {
	code, _ := strconv.Atoi(m.names["code"])
	if !slices.ContainsFunc(c.RPC, func(known RPC) bool { return known.Code == code && known.Message == m.names["message"] }) {
		c.RPC = append(c.RPC, RPC{Code: code, Message: m.names["message"], Said: m.said})
	}
}

// FromLog returns a case made of a client's log. The command line may be empty, a command or a URL.
func FromLog(command, text string) Case {
	c := Case{Command: SplitCommand(command), Log: text, OS: runtime.GOOS}
	if words := pastedEntry(command); words != nil {
		c.Command = words
	}
	if len(c.Command) == 1 && webAddress.MatchString(c.Command[0]) && strings.HasPrefix(c.Command[0], "http") {
		c.URL = c.Command[0]
	}
	p := page{text: legible(text)}
	p.hits = knowledge().finder.find(p.text)
	for i, n := range numbers {
		p.find(knowledge().numbers[i], func(m *match) bool {
			n.take(&c, m)
			return false // collect all of them
		})
	}
	return c
}

// status reports whether a response had one of these statuses, and puts the line into the match.
func (x *exam) status(m *match, codes ...int) bool {
	i := slices.IndexFunc(x.HTTP, func(h HTTP) bool { return slices.Contains(codes, h.Status) })
	if i >= 0 {
		m.said = cmp.Or(x.HTTP[i].Said, "HTTP "+strconv.Itoa(x.HTTP[i].Status))
	}
	return i >= 0
}

// exited reports whether the process exited with one of these codes.
func (x *exam) exited(m *match, codes ...int) bool {
	ok := x.Exit.Known && x.Exit.Signal == "" && slices.Contains(codes, x.Exit.Code)
	if ok {
		m.said = cmp.Or(x.Exit.Said, "exit status "+strconv.Itoa(x.Exit.Code))
	}
	return ok
}

// rpc reports whether there was a JSON-RPC error with one of these codes.
func (x *exam) rpc(m *match, codes ...int) bool {
	i := slices.IndexFunc(x.RPC, func(e RPC) bool { return slices.Contains(codes, e.Code) })
	if i >= 0 {
		m.said = cmp.Or(x.RPC[i].Said, strconv.Itoa(x.RPC[i].Code)+": "+x.RPC[i].Message)
	}
	return i >= 0
}

// Entry is a server's entry in a client's configuration, as far as a diagnosis needs it.
type Entry struct {
	Command []string // program and arguments
	URL     string
	Env     []string // names of the variables that the entry sets; nil if they are not known
	NoURL   bool     // the client only starts commands from this file
	NoSSE   bool     // the client connects to URLs by streamable HTTP only
}

// FromEntry returns a case made of a client's log and the server's entry.
func FromEntry(e Entry, text string) Case {
	c := FromLog("", text)
	c.Command, c.URL, c.Env, c.NoURL, c.NoSSE = e.Command, e.URL, e.Env, e.NoURL, e.NoSSE
	if len(c.Command) == 0 && c.URL != "" {
		c.Command = []string{c.URL}
	}
	return c
}

// pastedEntry returns the words of a command that is given as members of an entry, such as
// `"command": "npx", "args": ["-y", "notes"]`. The program may then contain spaces.
func pastedEntry(text string) []string {
	found := commandMember.FindStringSubmatch(text)
	if found == nil {
		return nil
	}
	words := []string{unquoted(found[1])}
	if list := argsMember.FindStringSubmatch(text); list != nil {
		for _, word := range quotedString.FindAllString(list[1], 64) {
			words = append(words, unquoted(word))
		}
	}
	return words
}

func unquoted(text string) string {
	var word string
	if json.Unmarshal([]byte(text), &word) != nil {
		return strings.Trim(text, `"`)
	}
	return word
}

var commandMember = regex.New(`"command"\s*:\s*("(?:[^"\\]|\\.)*")`)
var argsMember = regex.New(`"args"\s*:\s*\[((?:[^\]"\\]|"(?:[^"\\]|\\.)*")*)\]`)

var quotedString = regex.New(`"(?:[^"\\]|\\.)*"`)
