package correct

import (
	"slices"
	"testing"
)

func TestClassify(t *testing.T) {
	tests := []struct {
		text        string
		code        int
		beforeRun   bool
		kind        Kind
		correctable bool
		noEffect    bool
	}{
		// Validation libraries and SDKs.
		{"1 validation error for call[get_weather]\ndays\n  Input should be a valid integer [type=int_parsing, input_value='x']", 0, true, WrongType, true, true},
		{"1 validation error for call[get_weather]\ndays\n  Input should be a valid integer [type=int_parsing, input_value='x']", 0, false, WrongType, true, false},
		{"Error executing tool get: 1 validation error for getArguments\ncity\n  Field required [type=missing, input_value={}]", 0, true, MissingArgument, true, true},
		{"MCP error -32602: Input validation error: Invalid arguments for tool x: [{\"code\":\"invalid_type\"}]", -32602, true, WrongType, true, true},
		{"Input validation error: 'kelvin' is not one of ['c', 'f']", 0, true, UnknownChoice, true, true},
		{"Input validation error: 'city' is a required property", 0, true, MissingArgument, true, true},
		{"Input validation error: 99 is greater than the maximum of 14", 0, true, OutOfRange, true, true},
		{"invalid params: validating \"arguments\": validating root: required: missing properties: [\"city\"]", -32602, true, InvalidArguments, true, true},
		{"invalid request parameters", -32602, false, InvalidArguments, true, false},
		{"TypeError: f() got an unexpected keyword argument 'citty'", 0, false, UnknownArgument, true, false},
		{"HTTP 422: unprocessable entity", 0, false, InvalidArguments, true, false},
		{"API error: status code 400", 0, false, InvalidArguments, true, false},
		// A tool may say this after it has done something, such as the first half of a batch.
		{"Validation failed: item 4 has no title", 0, false, InvalidArguments, true, false},
		{"Error executing tool add_all: Validation error: items.3.title is required", 0, false, MissingArgument, true, false},
		{"Error executing tool add: Input validation error: 'id' is a required property", 0, false, MissingArgument, true, false},
		{`[{"code":"invalid_type","expected":"string","received":"undefined","path":["html_url"]}]`, 0, false, WrongType, true, false},
		{"Missing required arguments: days", 0, false, MissingArgument, true, false},
		{"MCP error -32602: the third recipient must be an address", 0, false, InvalidArguments, true, false},
		{"Invalid params: days must be an integer", -32602, false, WrongType, true, false},
		// Exceptions of a tool: the tool ran, so the call may have had an effect.
		{"ValueError: days must be positive", 0, false, InvalidValue, true, false},
		{"Error executing tool x: ValueError: bad unit", 0, false, InvalidValue, true, false},
		{"json.decoder.JSONDecodeError: Expecting value: line 1 column 1", 0, false, Malformed, true, false},
		{"KeyError: 'city'", 0, false, Internal, false, false},
		{"TypeError: unsupported operand", 0, false, Internal, false, false},
		{"AttributeError: x", 0, false, Internal, false, false},
		{"RuntimeError: x", 0, false, Internal, false, false},
		{"boom", -32603, false, Internal, false, false},
		// Never corrected.
		{"PathTraversalError: ../x", 0, false, PathTraversal, false, false},
		{"Access denied - path outside allowed directories: /etc", 0, false, PathTraversal, false, false},
		{"PermissionError: [Errno 13]", 0, false, Permission, false, false},
		{"HTTP 403 Forbidden", 0, false, Permission, false, false},
		{"401 Unauthorized", 0, false, Authentication, false, false},
		{"Invalid API key provided", 0, false, Authentication, false, false},
		{"Blocked by security policy", 0, false, Security, false, false},
		{"possible SQL injection in query", 0, false, Security, false, false},
		{"Input validation error: 'x' is not of type 'integer' (permission denied)", 0, true, Permission, false, false},
		{"Invalid arguments for tool x: token expired", -32602, true, Authentication, false, false},
		// Recovery handles these.
		{"429 Too Many Requests", 0, false, RateLimit, false, false},
		{"TimeoutError", 0, false, Timeout, false, false},
		{"request timed out", -32001, false, Timeout, false, false},
		{"ConnectionRefusedError: [Errno 111]", 0, false, Connection, false, false},
		{"ConnectionError", 0, false, Connection, false, false},
		{"ConnectionResetError", 0, false, Connection, false, false},
		{"BrokenPipeError", 0, false, Connection, false, false},
		{"closed", -32000, false, Connection, false, false},
		{"HTTP 503 Service Unavailable", 0, false, Connection, false, false},
		// Others.
		{"Unknown tool: get_wether", -32602, false, UnknownTool, false, false},
		{"Method not found", -32601, false, UnknownTool, false, false},
		{"ENOENT: no such file or directory, open 'x'", 0, false, NotFound, false, false},
		{"issue 7 does not exist", 0, false, NotFound, false, false},
		{"branch already exists", 0, false, Conflict, false, false},
		{"ProfileError: no profile", 0, false, Unknown, false, false},
		{"RandomError", 0, false, Unknown, false, false},
		{"", 0, false, Unknown, false, false},
		{"The weather is fine", 0, false, Unknown, false, false},
	}
	for _, tt := range tests {
		c := Classify(Rejection{Text: tt.text, Code: tt.code, BeforeRun: tt.beforeRun})
		if c.Kind != tt.kind || c.Correctable != tt.correctable || c.NoEffect != tt.noEffect || c.Reason == "" {
			t.Errorf("%q (%d): %+v, expected %s, correctable %v, no effect %v", tt.text, tt.code, c, tt.kind, tt.correctable, tt.noEffect)
		}
	}
}

// The words of the repair gate quote values of the caller, which must not decide.
func TestUnsentCallsAreCorrectableWhateverTheySay(t *testing.T) {
	c := Classify(Rejection{Text: "The call to `x` was not run: 1 argument must be changed.\n1. note - received \"permission denied\"", Unsent: true})
	if c.Kind != InvalidArguments || !c.Correctable || !c.NoEffect {
		t.Errorf("%+v", c)
	}
	if c := Classify(Rejection{Text: "The call to `x` was not run: its arguments are not JSON.", Unsent: true}); c.Kind != Malformed || !c.Correctable {
		t.Errorf("%+v", c)
	}
	if c := Classify(Rejection{Text: "The call was not run: tool `x` does not exist.", Unsent: true}); c.Kind != UnknownTool || c.Correctable {
		t.Errorf("%+v", c)
	}
}

func TestNoPolicyMakesASecurityRefusalCorrectable(t *testing.T) {
	for _, kind := range []Kind{Authentication, Permission, PathTraversal, Security, Unknown, RateLimit, UnknownTool} {
		var p Policy
		if err := p.Set("correctable_errors", string(kind)); err == nil {
			t.Errorf("%s was accepted", kind)
		}
		p = Policy{Correctable: []Kind{kind}} // as a library could set it
		if p.Allows(Class{Kind: kind, Correctable: true}) {
			t.Errorf("%s is allowed", kind)
		}
	}
}

func TestAPolicyWidensAndNarrowsByKind(t *testing.T) {
	var p Policy
	if err := p.Set("correctable-errors", "not-found, wrong_type"); err != nil {
		t.Fatal(err)
	}
	if !p.Allows(Class{Kind: NotFound}) || !p.Allows(Class{Kind: WrongType, Correctable: true}) || p.Allows(Class{Kind: MissingArgument, Correctable: true}) {
		t.Errorf("%+v", p)
	}
	if err := p.Set("correctable_errors", ""); err != nil || p.Allows(Class{Kind: WrongType, Correctable: true}) {
		t.Errorf("an empty list allows a kind: %v", err)
	}
}

func TestKindsAreListedOnce(t *testing.T) {
	kinds := Kinds()
	if slices.Sort(kinds); len(slices.Compact(slices.Clone(kinds))) != len(kinds) {
		t.Errorf("%v", kinds)
	}
}
