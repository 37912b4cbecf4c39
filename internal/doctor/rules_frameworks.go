package doctor

import "strings"

// frameworkClues returns panics and errors of runtimes and frameworks that come without a stack: the
// sentence is the runtime's own, so it is a bug or a misuse in the server.
func frameworkClues() map[string][]clue {
	return map[string][]clue{
		"server_bug_crash": {
			// Java and Spring, .NET, Ruby, PHP, C++, Swift, Elixir
			{likely, `\bAPPLICATION FAILED TO START\b|(?P<text>\b(?:BeanCreationException|NoSuchBeanDefinitionException|UnsatisfiedDependencyException|IllegalStateException|IllegalArgumentException|ClassCastException|ConcurrentModificationException)\b[^\n]*)`, nil},
			{likely, `(?P<text>Unable to resolve service for type '[^\n]+|Object reference not set to an instance of an object|System\.(?:NullReference|InvalidOperation|IndexOutOfRange|InvalidCast|Aggregate)Exception[^\n]*)`, nil},
			{likely, "(?P<text>undefined (?:method|local variable or method) [`'][^\\n]+|\\(NoMethodError\\)|\\(NameError\\)|\\*\\* \\(\\w+Error\\) [^\\n]+)", nil},
			{likely, `(?P<text>terminating (?:due to|with) uncaught exception[^\n]*|Fatal error: (?:Unexpectedly found nil|Index out of range|Uncaught)[^\n]*|Swift/\w+\.swift:\d+: Fatal error[^\n]*)`, nil},
			// Go and Rust
			{likely, "(?P<text>\\bpanic: [^\\n]+|called `(?:Option|Result)::unwrap\\(\\)` on [^\\n]+|nil pointer dereference|index out of range \\[\\d+\\] with length \\d+|interface conversion: [^\\n]+|all goroutines are asleep - deadlock!)", notPresent},
			// Node, Bun, Deno
			{likely, `(?P<text>\bERR_(?:STREAM_WRITE_AFTER_END|STREAM_DESTROYED|HTTP_HEADERS_SENT|UNHANDLED_REJECTION|UNHANDLED_ERROR|ASSERTION|INTERNAL_ASSERTION|IPC_CHANNEL_CLOSED)\b[^\n]*|Cannot set headers after they are sent[^\n]*|write after end\b|Bun has crashed[^\n]*|error: Uncaught \([^\n]+)`, nil},
			{likely, `(?P<text>Already connected to a transport[^\n]*|(?:Tool|Prompt|Resource) \S+ is already registered|Cannot register capabilities after connecting[^\n]*|A request handler for \S+ already exists[^\n]*)`, nil},
			// Python without a traceback
			{likely, `(?P<text>\b(?:asyncio\.exceptions\.)?InvalidStateError\b[^\n]*|asyncio\.run\(\) cannot be called from a running event loop|Already running asyncio in this thread|There is no current event loop[^\n]*|Event loop is closed|Attempted to exit cancel scope in a different task[^\n]*|generator didn't (?:yield|stop)[^\n]*)`, nil},
			{guess, `(?m)^(?:\[?[\w:. -]{0,40}\]? ?)?(?P<text>(?:AttributeError|KeyError|IndexError|NameError|UnboundLocalError|ZeroDivisionError|NotImplementedError|StopIteration|AssertionError|RuntimeError): [^\n]+)`, func(x *exam, m *match) bool { return !environRead(x.text) && !strings.Contains(m.said, "connect") }},
		},
	}
}

// notPresent reports whether a panic is about something other than a missing variable.
func notPresent(_ *exam, m *match) bool {
	return !strings.Contains(m.said, "NotPresent") && !strings.Contains(m.said, "AddrInUse") && !strings.Contains(m.said, "ConnectionRefused") && !strings.Contains(m.said, "NotFound") && !strings.Contains(m.said, "PermissionDenied") && !strings.Contains(m.said, "required") && !strings.Contains(m.said, "must be set") && !strings.Contains(m.said, "not set")
}
