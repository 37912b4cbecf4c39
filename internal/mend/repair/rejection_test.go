package repair

import (
	"strings"
	"testing"
)

const (
	rejectedWords = "[gauze] The server rejected the call to `forecast`: "
	failedWords   = "[gauze] The call to `forecast` failed, and its arguments do not match the tool's schema: "
)

// answered returns what is added to the response to a call of forecast, whose schema is in
// complaint_test.go.
func answered(sent string, r Response) Addition {
	d := (&Gate{}).Admit(Call{Tool: "forecast", Arguments: []byte(sent)}, Only{Schema: Compile([]byte(forecast))})
	return d.Answered([]byte(sent), r)
}

// A call that violates the schema is explained from the schema if the server's words show that
// arguments were rejected, whatever these words are. Most of the texts are those of real servers:
// version 1.32 and 2.0 of the TypeScript SDK, the Python SDK, and servers with words of their own.
func TestARejectionInAnyWordingIsExplainedFromTheSchema(t *testing.T) {
	const none, object, kelvin, low, misspelled = `{}`, `{"city":{"a":1}}`, `{"city":"Oslo","units":"kelvin"}`, `{"city":"Oslo","days":-9}`, `{"citty":"Oslo"}`
	for _, c := range []struct {
		sent, said string
		code       int
		want       string // how the explanation begins
		field      string // what its first issue is about
	}{
		{none, "MCP error -32602: Input validation error: Invalid arguments for tool forecast: Invalid input: expected string, received undefined at city", 0, rejectedWords, "city"},
		{object, "MCP error -32602: Input validation error: Invalid arguments for tool forecast: Invalid input: expected string, received object at city", 0, rejectedWords, "city"},
		{kelvin, `MCP error -32602: Input validation error: Invalid arguments for tool forecast: Invalid option: expected one of "celsius"|"fahrenheit" at units`, 0, rejectedWords, "units"},
		{low, "MCP error -32602: Input validation error: Invalid arguments for tool forecast: Too small: expected number to be >=1 at days", 0, rejectedWords, "days"},
		{none, "Input validation error: Invalid arguments for tool forecast: city: Invalid input: expected string, received undefined", 0, rejectedWords, "city"},
		{low, "Input validation error: Invalid arguments for tool forecast: days: Too small: expected number to be >=1", 0, rejectedWords, "days"},
		{object, "[\n  {\n    \"expected\": \"string\",\n    \"code\": \"invalid_type\",\n    \"path\": [\n      \"city\"\n    ],\n    \"message\": \"Invalid input: expected string, received object\"\n  }\n]", 0, rejectedWords, "city"},
		{object, "MCP error -32603: Failed to execute forecast: input.city.toLowerCase is not a function", -32603, failedWords, "city"},
		{object, "Input validation error: {'a': 1} is not of type 'string'", 0, rejectedWords, "city"},
		{none, "Error executing tool forecast: Invalid arguments for forecast:\n- city: required", 0, rejectedWords, "city"},
		{misspelled, "Error executing tool forecast: Invalid arguments for forecast: citty: unknown field; did you mean 'city'?", 0, rejectedWords, "city"},
		{none, `Validation error: Required at "city"`, 0, rejectedWords, "city"},
		{none, "Invalid city: Required", 0, failedWords, "city"},
		{object, "Invalid city: Expected string, received object", 0, rejectedWords, "city"},
		{none, "city: Required", 0, failedWords, "city"},
		{none, "ValueError: city is invalid (2 to 80 letters)", 0, failedWords, "city"},
		{kelvin, "MCP error -32600: Unsupported units type: kelvin", -32600, failedWords, "units"},
		{kelvin, "I do not know kelvin, it must be something else", 0, failedWords, "units"},
		{none, "You have to specify a city", 0, failedWords, "city"},
		{none, "Bad request: a parameter is missing", 0, failedWords, "city"},
		{low, "Expected a positive number but got -9", 0, failedWords, "days"},
		{none, "Invalid arguments for tool geocode: city: Required", -32602, failedWords, "city"}, // a different tool
		{none, "ValueError: city is invalid (log in to see all cities, or connect an account)", 0, failedWords, "city"},
		{object, "Error: city string must be a place that is not found elsewhere", 0, failedWords, "city"},
		{kelvin, "Error: scale kelvin", 0, failedWords, "units"},
		{kelvin, "KeyError: 'kelvin'", 0, failedWords, "units"},
		{kelvin, "Units: pick another", 0, failedWords, "units"},
		{kelvin, "assert units in scales", 0, failedWords, "units"},
	} {
		a := answered(c.sent, Response{Text: c.said, Code: c.code})
		if !strings.HasPrefix(a.Explanation, c.want) || !strings.Contains(a.Explanation, "\n1. "+c.field+" - ") {
			t.Errorf("%s, %q:\n%s", c.sent, c.said, a.Explanation)
		}
	}
}

// A failure with a different cause is not explained by arguments that do not fit, and neither is a
// complaint that is only about arguments that do.
func TestAFailureWithADifferentCauseIsNotExplained(t *testing.T) {
	for _, said := range []string{
		"fetch failed",
		"Tool 'forecast' execution failed: getaddrinfo ENOTFOUND api.example.com",
		"connect ECONNREFUSED 127.0.0.1:1",
		"forecast error (401): API key must be provided as an argument or as an environment variable (EXA_API_KEY)",
		"### Error\nError: async initializeServer: Chromium distribution 'chrome' is not found at /opt/google/chrome/chrome\nRun \"npx playwright install chrome\"",
		"MCP error -32603: Failed to execute forecast: client.cities.list is not a function",
		"MCP error -32603: Failed to execute forecast: Cannot read properties of undefined (reading 'toLowerCase')",
		"MCP error -32601: Tool forecast requires task augmentation (taskSupport: 'required')",
		"Missing required environment variable FORECAST_URL",
		"Permission denied: the field is required to be public",
		"The upstream request timed out: invalid parameter cache",
		"the service is unavailable",
		"`units` must be fahrenheit in the US",
		"a parameter is missing " + strings.Repeat("x", maxComplaintLen),
		"",
	} {
		if a := answered(`{"units":"celsius"}`, Response{Text: said}); a.Explanation != "" {
			t.Errorf("%.200q:\n%s", said, a.Explanation)
		}
	}
}

// A call that matches the schema is explained if the server's words say of one of its arguments that
// it is not accepted.
func TestPlainWordsAboutAnArgument(t *testing.T) {
	const sent = `{"city":"Oslo","lang":"no"}`
	for _, c := range []struct{ said, field string }{
		{"ValueError: city is invalid (2 to 80 letters)", "city"},
		{"Error executing tool forecast: city is invalid (2 to 80 letters)", "city"},
		{"days: Required", "days"},
		{"Invalid days: Required", "days"},
		{"Invalid lang: Expected en, received no", "lang"},
		{"days is required", "days"},
		{"'units' must be one of C, F", "units"},
		{"MCP error -32602: Input validation error: Invalid arguments for tool forecast: Invalid input at city", "city"},
		{"MCP error -32602: Input validation error: Invalid arguments for tool forecast: Invalid input at hours.0.from\nInvalid input at city", "hours.0.from"},
	} {
		a := answered(sent, Response{Text: c.said})
		if !strings.HasPrefix(a.Explanation, rejectedWords) || !strings.Contains(a.Explanation, "\n1. "+c.field+" - ") {
			t.Errorf("%q:\n%s", c.said, a.Explanation)
		}
	}
	for _, said := range []string{
		"ValueError: Oslo is invalid",
		"city is not found",
		"The city is invalid",
		"KeyError: 'city'",
		"AssertionError: city must match the record",
		"days of rain are required",
		"path does not exist",
		"MCP error -32602: Input validation error: Invalid arguments for tool geocode: Invalid input at city",
		"Error executing tool forecast: MCP error -32602: Invalid arguments for tool geocode: Invalid input at city",
	} {
		if a := answered(sent, Response{Text: said}); a.Explanation != "" {
			t.Errorf("%q:\n%s", said, a.Explanation)
		}
	}
}

// The rejection of a different tool, which a downstream server wrote, and words that only show that
// arguments were rejected prove nothing about what the server enforces.
func TestOnlyItsOwnRejectionProvesWhatAServerEnforces(t *testing.T) {
	for said, want := range map[string]Verdict{
		"Input validation error: Invalid arguments for tool forecast: hours: Invalid input: expected array, received object": Repaired,
		"Input validation error: Invalid arguments for tool geocode: hours: Invalid input: expected array, received object":  Unverified,
		"Could not read the input: a missing parameter":                                                                      Unverified,
	} {
		g, tools, sent := &Gate{}, Only{Schema: Compile([]byte(forecast)), Safe: true}, []byte(`{"city":"Oslo","hours":{"from":"10:00:00"}}`)
		for range 2 {
			d := g.Admit(Call{Tool: "forecast", Arguments: sent}, tools)
			if a := d.Answered(d.Arguments, Response{Text: said}); a.Explanation == "" && d.Verdict != Repaired {
				t.Errorf("%q is not explained", said)
			}
		}
		if d := g.Admit(Call{Tool: "forecast", Arguments: sent}, tools); d.Verdict != want {
			t.Errorf("%q: %s, want %s", said, d.Verdict, want)
		}
	}
}

func TestAToolThatTheServerCallsAMethodIsExplained(t *testing.T) {
	d := (&Gate{}).Admit(Call{Tool: "no_such_tool"}, tools(ModeDefault, true))
	if a := d.Answered(nil, Response{Text: "Method no_such_tool not found", Code: -32603}); !strings.Contains(a.Explanation, "`book`") {
		t.Errorf("%q", a.Explanation)
	}
}

// Only a rejection of this tool because of the arguments that do not match its schema proves that the
// tool did not run. The texts are those of the SDKs and of FastMCP.
func TestRejectedBeforeRun(t *testing.T) {
	const sent, fits = `{"city":"Oslo","days":"five","units":"kelvin"}`, `{"city":"Oslo"}`
	for _, c := range []struct {
		sent, said string
		want       bool
	}{
		{sent, "MCP error -32602: Input validation error: Invalid arguments for tool forecast: Invalid input: expected number, received string at days", true},
		{sent, "MCP error -32602: Input validation error: Invalid arguments for tool forecast: Invalid input: expected number, received string at days\nInvalid option: expected one of \"celsius\"|\"fahrenheit\" at units", true},
		{sent, "Input validation error: Invalid arguments for tool forecast: days: Invalid input: expected number, received string", true},
		{sent, `MCP error -32602: Invalid arguments for tool forecast: [{"code":"invalid_type","expected":"number","received":"string","path":["days"]}]`, true},
		{sent, "Error executing tool forecast: 1 validation error for forecastArguments\ndays\n  Input should be a valid integer [type=int_parsing, input_value='five', input_type=str]", true},
		{sent, "1 validation error for call[forecast]\ndays\n  Input should be a valid integer", true},
		{sent, `validating "arguments": validating root: validating /properties/days: type: five has type "string", want "integer"`, true},
		{`{"days":1}`, "Input validation error: 'city' is a required property", true},
		{`{"days":1}`, "failed to deserialize parameters: missing field `city`", true},
		{`{"days":1}`, "The arguments dictionary is missing a value for the required parameter 'city'. (Parameter 'arguments')", true},
		{fits, "Input validation error: Invalid arguments for tool forecast: days: Invalid input: expected number, received undefined", false},
		// a different tool
		{sent, "MCP error -32602: Input validation error: Invalid arguments for tool geocode: Invalid input: expected number, received string at days", false},
		{sent, "Error executing tool forecast: 1 validation error for geocodeArguments\ndays\n  Input should be a valid integer", false},
		{sent, "Invalid arguments for tool forecast: days: required\nError executing tool geocode: failed", false},
		// different arguments, or none
		{sent, "Input validation error: Invalid arguments for tool forecast: city: Invalid input: expected number, received string", false},
		{sent, "Input validation error: Invalid arguments for tool forecast: days: Required, path: Required", false},
		{sent, "Input validation error: Invalid arguments for tool forecast: latitude: Required", false},
		{sent, "Input validation error: 'five' is not of type 'integer'", false},
		{sent, "Input validation error: 'latitude' is a required property", false},
		{sent, `validating "arguments": validating root: required: missing properties: ["latitude"]`, false},
		{sent, `validating "arguments": validating root: validating /properties/path: type: five has type "string", want "integer"`, false},
		// passed on
		{sent, "MCP error -32602: MCP error -32602: Invalid arguments for tool forecast: days: Required", false},
		{sent, "Error executing tool forecast: Error executing tool forecast: 1 validation error for forecastArguments\ndays\n  Field required", false},
		// what a tool may say after it has done something, such as the first half of a batch
		{sent, "Validation failed: days of item 4 must be an integer", false},
		{sent, "Error executing tool forecast: Validation error: days: must be an integer", false},
		{sent, "Error executing tool forecast: Input validation error: 'days' is a required property", false},
		{sent, `[{"code":"invalid_type","expected":"number","received":"string","path":["days"]}]`, false},
		{sent, "Missing required arguments: days", false},
		{sent, "MCP error -32602: days must be an integer", false},
		{sent, "Invalid params: days must be an integer", false},
		{sent, "invalid request parameters", false},
		{sent, "ValueError: days must be positive", false},
		{sent, "TypeError: forecast() got an unexpected keyword argument 'days'", false},
		{sent, "Booked. But: Invalid arguments for tool forecast: days: Required", false},
	} {
		d := (&Gate{}).Admit(Call{Tool: "forecast", Arguments: []byte(c.sent)}, Only{Schema: Compile([]byte(forecast))})
		if got := d.RejectedBeforeRun(c.said); got != c.want {
			t.Errorf("%s, %q: %t", c.sent, c.said, got)
		}
	}
}
