package doctor

import "strings"

// frameworkClues returns panics and errors of runtimes and frameworks that come without a stack: the
// sentence is the runtime's own, so it is a bug or a misuse in the server.
func frameworkClues() map[string][]clue {
	return map[string][]clue{
		"dependency_version_drift": {
			{strong, `'(?P<module>[A-Z]\w*(?:Tool|Server|Session|MCP|Context|Settings|Resource|Prompt|Transport))' object has no attribute|\b(?P<class>[A-Z]\w+)\.__init__\(\) (?:takes|missing|got an unexpected)`, nil},
			{strong, `does not provide an export named|has no exported member`, func(_ *exam, m *match) bool { return !strings.Contains(m.said, "node:") }},
		},
		"old_node_first_in_path": {
			{certain, `The requested module '(?P<hit>node:[\w/]+)' does not provide an export named|error:0308010C:digital envelope routines|\bERR_OSSL_EVP_UNSUPPORTED\b`, nil},
		},
		"shared_library_missing": {
			{certain, `(?i)\bcannot load library '(?P<module>[^'\n]+)'`, nil},
		},
		"native_build_failed": {
			{strong, `(?i)could not locate the bindings file`, nil},
		},
		"wrong_directory_argument": {
			{strong, "could not find `(?P<file>[\\w.]+\\.toml)` in|No `project` table found in|(?i)does not contain (?:a )?(?P<manifest>package\\.json|pyproject\\.toml|Cargo\\.toml|go\\.mod)", nil},
		},
		"companion_app_not_running": {
			{likely, `(?i)\b(?:failed|unable|could not|couldn['’]t|cannot) (?:to )?(?:connect|establish (?:a )?connection) to (?:the )?(?:server |host )?\[?(?P<host>localhost|127\.0\.0\.1|\[?::1\]?):(?P<port>\d{2,5})`, func(x *exam, m *match) bool { return !x.remote() && notRegistry(x, m) }},
		},
		"peer_too_old": {
			{likely, `(?im)\bunknown (?:command|action|operation|message)(?: type)?: ['"` + "`" + `]?[a-z]+[_A-Z]\w*['"` + "`" + `]?[ \t]*$`, func(x *exam, _ *match) bool { return len(x.Command) > 0 && !x.remote() }},
		},
		"stdout_log_pollution": {
			{strong, `(?i)\binvalid JSON (?:received )?(?:from|on) (?:the )?(?:server|stdout|stdio)\b|\bcorrupt\w* (?:the )?(?:JSON-?RPC|stdio|MCP|protocol) (?:stream|messages?|protocol|communication)|\bstdout\b[^\n]{0,40}\breserved for\b`, func(x *exam, m *match) bool { return !aboutConfig(x, m) && !x.remote() }},
		},
		"version_not_published": {
			{strong, `(?i)\bno versions? of (?P<package>[\w.@/-]+) (?:satisf(?:y|ies)|match(?:es)?)\b`, nil},
		},
		"wrong_package_name": {
			{strong, `Unable to find package (?P<package>[\w.-]+)\. No packages exist`, nil},
		},
		"slow_tool_call": {
			{faint, `(?i)\btime ?out (?:waiting for|while|during)\b|\btimed out while waiting\b`, complaint},
		},
		"server_bug_crash": {
			// Java and Spring, .NET, Ruby, PHP, C++, Swift, Elixir
			{likely, `\bAPPLICATION FAILED TO START\b|(?P<text>\b(?:BeanCreationException|NoSuchBeanDefinitionException|UnsatisfiedDependencyException|IllegalStateException|IllegalArgumentException|ClassCastException|ConcurrentModificationException)\b[^\n]*)`, nil},
			{likely, `(?P<text>Unable to resolve service for type '[^\n]+|Object reference not set to an instance of an object|System\.(?:NullReference|InvalidOperation|IndexOutOfRange|InvalidCast|Aggregate)Exception[^\n]*)`, nil},
			{likely, "(?P<text>undefined (?:method|local variable or method) [`'][^\\n]+|\\(NoMethodError\\)|\\(NameError\\)|\\*\\* \\(\\w+Error\\) [^\\n]+)", nil},
			{likely, `(?P<text>terminating (?:due to|with) uncaught exception[^\n]*|Fatal error: (?:Unexpectedly found nil|Index out of range|Uncaught)[^\n]*|Swift/\w+\.swift:\d+: Fatal error[^\n]*)`, nil},
			// Go and Rust
			{likely, "(?P<text>\\bpanic: [^\\n]+|called `(?:Option|Result)::unwrap\\(\\)` on [^\\n]+|nil pointer dereference|index out of range \\[\\d+\\] with length \\d+|interface conversion: [^\\n]+|all goroutines are asleep - deadlock!)", notPresent},
			// Node, Bun, Deno
			{likely, `(?P<text>\bERR_(?:STREAM_WRITE_AFTER_END|STREAM_DESTROYED|HTTP_HEADERS_SENT|UNHANDLED_REJECTION|UNHANDLED_ERROR|ASSERTION|INTERNAL_ASSERTION|IPC_CHANNEL_CLOSED)\b[^\n]*|Cannot set headers after they are sent[^\n]*|stream is not readable|Body (?:is unusable|has already been (?:read|used|consumed))[^\n]*|write after end\b|Bun has crashed[^\n]*|error: Uncaught \([^\n]+)`, nil},
			{likely, `(?P<text>Already connected to a transport[^\n]*|(?:Tool|Prompt|Resource) \S+ is already registered|Cannot register capabilities after connecting[^\n]*|A request handler for \S+ already exists[^\n]*)`, nil},
			// Python without a traceback
			{likely, `(?P<text>\b(?:asyncio\.exceptions\.)?InvalidStateError\b[^\n]*|asyncio\.run\(\) cannot be called from a running event loop|Already running asyncio in this thread|no current event loop[^\n]*|Event loop is closed|Attempted to exit cancel scope in a different task[^\n]*|generator didn't (?:yield|stop)[^\n]*)`, nil},
			{guess, `(?P<text>'\w+' object (?:has no attribute|is not (?:iterable|callable|subscriptable|JSON serializable))[^\n]*|\b(?:list|string|tuple) index out of range|string indices must be integers[^\n]*|(?:not enough|too many) values to unpack[^\n]*|cannot unpack non-iterable[^\n]*|object of type '\w+' has no len\(\)|dictionary changed size during iteration|referenced before assignment|unhashable type: [^\n]+|Object of type \w+ is not JSON serializable|maximum recursion depth exceeded)`, nil},
			{guess, `(?P<text>Cannot destructure property [^\n]+|Cannot read propert(?:ies|y) (?:'\w+' )?of (?:undefined|null)[^\n]*|Cannot convert undefined or null to object|Converting circular structure to JSON|Reduce of empty array with no initial value|Invalid array length|\S+ is not iterable\b)`, func(x *exam, m *match) bool {
				return !strings.Contains(m.said, "npm ") && !aboutConfigLine(x, m)
			}},
			{guess, `(?m)^(?:\[?[\w:. -]{0,40}\]? ?)?(?P<text>(?:AttributeError|KeyError|IndexError|NameError|UnboundLocalError|ZeroDivisionError|NotImplementedError|StopIteration|AssertionError|RuntimeError): [^\n]+)`, func(x *exam, m *match) bool { return !environRead(x.text) && !strings.Contains(m.said, "connect") }},
		},
	}
}

// notPresent reports whether a panic is about something other than a missing variable.
func notPresent(_ *exam, m *match) bool {
	return !strings.Contains(m.said, "NotPresent") && !strings.Contains(m.said, "AddrInUse") && !strings.Contains(m.said, "ConnectionRefused") && !strings.Contains(m.said, "NotFound") && !strings.Contains(m.said, "PermissionDenied") && !strings.Contains(m.said, "required") && !strings.Contains(m.said, "must be set") && !strings.Contains(m.said, "not set")
}
