package repair

import (
	"encoding/json"
	"strings"
	"testing"
)

// Without a code that says so only the beginnings that libraries write before
// a tool has run are believed.
func TestARefusalIsToldFromAResult(t *testing.T) {
	for _, text := range []string{
		`MCP error -32602: Invalid arguments for tool get_weather: [{"code":"invalid_type"}]`,
		`Input validation error: 'days' is a required property`,
		"Error executing tool get_weather: 1 validation error for get_weatherArguments\ndays\n  Field required",
		"1 validation error for call[get_weather]\ndays\n  Input should be a valid integer",
		`validating "arguments": validating root: required: missing properties: ["days"]`,
		"failed to deserialize parameters: missing field `days`",
		`The arguments dictionary is missing a value for the required parameter 'days'.`,
		`[ { "code": "invalid_type", "expected": "number", "received": "string", "path": ["days"] } ]`,
		`Error: [ { "code": "invalid_type", "expected": "number", "received": "string", "path": ["days"] } ]`,
		`Missing required arguments: days`,
		`Unknown parameter: dayz`,
	} {
		if !IsComplaint(text, false) {
			t.Errorf("a refusal: %s", text)
		}
	}
	for _, text := range []string{
		"error[E0063]: missing field `y` in initializer of `Point`",
		`Error: Missing required argument: The argument "ami" is required, but no definition was found.`,
		"FAILED test_a.py - TypeError: f() got an unexpected keyword argument 'z'\n61 failed",
		"src/a.ts(3,5): error TS2345: Expected string, received number",
		"config.json: must have required property 'name'",
		"services.web Additional properties are not allowed ('prots' was unexpected)",
		`Error from server (BadRequest): unknown field "spec.replica"`,
		"deserialization of upstream response failed: missing field `id`",
		"Issue #42 was created, but: 1 validation error for IssueResponse\nid\n  Field required",
		"1 validation error for IssueResponse\nid\n  Field required",
		"decoding parameters of the certificate failed",
		"Missing required fields in the CSV: email",
		"Input validation error: " + strings.Repeat("x", 5000),
	} {
		if IsComplaint(text, false) {
			t.Errorf("a result: %s", text)
		}
	}
}

func TestIsComplaint(t *testing.T) {
	for _, text := range []string{
		`MCP error -32602: Invalid arguments for tool get_weather: [{"code":"invalid_type"}]`,
		`Input validation error: 'days' is a required property`,
		`[ { "code": "invalid_type", "expected": "number", "received": "string", "path": ["days"], "message": "Expected number, received string" } ]`,
		`[{"code":"unrecognized_keys","keys":["x"],"path":[],"message":"Unrecognized key: \"x\""}]`,
		`Invalid input: expected number, received string`,
		`Expected number, received string`,
		`data/days must be integer`,
		`data must have required property 'days'`,
		`must NOT have additional properties`,
		"1 validation error for call[get_weather]\ndays\n  Input should be a valid integer, unable to parse string as an integer",
		"2 validation errors for WeatherArguments\ncity\n  Field required [type=missing, input_value={}, input_type=dict]",
		`Input should be 'celsius' or 'fahrenheit'`,
		`validating "arguments": validating root: required: missing properties: ["days"]`,
		`calling "tools/call": invalid params: validating /properties/days: type: five has type "string", want "integer"`,
		`'five' is not of type 'integer'`,
		`'days' is a required property`,
		`Additional properties are not allowed ('x' was unexpected)`,
		`'kelvins' is not one of ['celsius', 'fahrenheit']`,
		"failed to deserialize parameters: missing field `days`",
		"missing field `days` at line 1 column 15",
		"invalid type: string \"five\", expected i32",
		`The arguments dictionary is missing a value for the required parameter 'days'. (Parameter 'arguments')`,
		`Missing required arguments: days`,
		`Missing required parameter: days`,
		`get_weather() got an unexpected keyword argument 'dayz'`,
		`TypeError: get_weather() missing 1 required positional argument: 'days'`,
		`Unknown parameter: dayz`,
		`Error: parameter 'days' is required`,
		`required argument "days" was not provided`,
		`30 is greater than the maximum of 14`,
	} {
		if !IsComplaint(text, true) {
			t.Errorf("is a complaint about arguments: %s", text)
		}
	}
	for _, text := range []string{
		``, `ok`,
		`file not found`,
		`ENOENT: no such file or directory, open '/tmp/missing'`,
		`invalid token`,
		`Invalid credentials: the API key is required to be renewed`,
		`validation failed for user record in database`,
		`Validation of the certificate failed`,
		`missing file`,
		`The repository is missing a README`,
		`HTTP 400 Bad Request`,
		`HTTP 422 Unprocessable Entity: title has already been taken`,
		`404 Not Found`,
		`required status check "build" is failing`,
		`unknown host example.com`,
		`Unknown user: bob`,
		`SQL error: column "days" does not exist`,
		`duplicate key value violates unique constraint "users_email_key"`,
		`permission denied: argument list too long`,
		`compile error: not enough arguments in call to f`,
		`The schema public does not exist`,
		`expected 3 results, received 2`,
		`Test failed: expected true to be false`,
		`timeout waiting for input`,
		`The field of medicine is required reading`,
		`parse error in document.json: unexpected end of input`,
		`payment declined: card type is not supported`,
		`insufficient funds`,
	} {
		if IsComplaint(text, true) || IsComplaint(text, false) {
			t.Errorf("not a complaint about arguments: %s", text)
		}
	}
}

const forecast = `{"type":"object","description":"Forecast for a city.","properties":{
	"city":{"type":"string","description":"Name of the city"},
	"days":{"type":"integer","minimum":1,"maximum":14,"description":"How many days ahead"},
	"units":{"type":"string","enum":["celsius","fahrenheit"]},
	"hours":{"type":"array","items":{"type":"object","properties":{"from":{"type":"string","format":"time"}},"required":["from"]}},
	"path":{"type":"string"}},
	"required":["city"]}`

func TestComplaint(t *testing.T) {
	for _, c := range []struct{ name, said, field string }{
		{"quoted", `The arguments dictionary is missing a value for the required parameter 'days'.`, "days"},
		{"backticks", "failed to deserialize parameters: missing field `days`", "days"},
		{"own line", "1 validation error for call[forecast]\ndays\n  Field required [type=missing]", "days"},
		{"zod", `[{"code":"invalid_type","path":["days"],"message":"Required"}]`, "days"},
		{"ajv", `data/units must be equal to one of the allowed values`, "units"},
		{"go-sdk", `validating /properties/units: enum: kelvin does not equal any of`, "units"},
		{"deep", `hours.0.from: Invalid time`, "hours.0.from"},
		{"deep list", `[{"code":"custom","path":["hours",0,"from"]}]`, "hours.0.from"},
		{"list", `Missing required arguments: days, units`, "days"},
		{"go", `json: cannot unmarshal string into Go struct field arguments.days of type int`, "days"},
		{"end of a sentence", `Missing field days. Nothing was done.`, "days"},
		{"undeclared inside", `Invalid arguments for forecast: hours.0.to: unknown field; valid fields: 'from'`, "hours.0.to"},
		{"undeclared", `forecast() got an unexpected keyword argument 'lang'`, "lang"},
	} {
		sent := `{"city":"Oslo","units":"celsius","hours":[{"from":"10:00:00","to":"11:00:00"}],"lang":"no"}`
		m := Compile([]byte(forecast)).Complaint("forecast", []byte(sent), c.said, 1)
		data := readReport(t, m)
		if len(data.Issues) == 0 || data.Issues[0].Field != c.field {
			t.Errorf("%s: the field named is %s:\n%s", c.name, c.field, m.Text)
			continue
		}
		if !strings.HasPrefix(m.Text, "The server rejected the call to `forecast`: ") || data.Type != "invalid_arguments" {
			t.Errorf("%s: %s", c.name, m.Text)
		}
		checkExample(t, forecast, data)
		if string(data.ValidExample) == sent {
			t.Errorf("%s: the example is what was refused", c.name)
		}
	}
}

func TestComplaintNamesNothing(t *testing.T) {
	s := Compile([]byte(forecast))
	for _, said := range []string{"Input validation error", `{"code":"invalid_type","path":[]}`, strings.Repeat("'x' is a required property ", 5000)} {
		if m := s.Complaint("forecast", []byte(`{"city":"Oslo"}`), said, 1); m.Text != "" {
			t.Errorf("nothing that was sent is named in %.60q:\n%s", said, m.Text)
		}
	}
	for _, raw := range []string{"", "no JSON"} {
		readReport(t, s.Complaint("forecast", []byte(raw), "missing field `city`", 1))
	}
	for _, m := range []Message{
		s.Complaint("forecast", []byte(`[1]`), "missing field `city`", 1),
		Compile([]byte(`{"$ref":"https://example.com/x"}`)).Complaint("x", []byte(`{"a":1}`), "'a' is not of type 'string'", 1),
	} {
		checkBounds(t, m) // whatever it says, it ends
	}
}

func TestComplaintHidesSecrets(t *testing.T) {
	m := Compile([]byte(forecast)).Complaint("forecast", []byte(`{"city":"Oslo","api_key":"correct horse battery"}`),
		"unexpected keyword argument 'api_key' with value correct horse battery\x1b[31m\u202e", 1)
	for _, text := range []string{m.Text, string(m.Data)} {
		if strings.Contains(text, "horse") || strings.ContainsAny(text, "\x1b\u202e") {
			t.Errorf("%s", text)
		}
	}
}

func readReport(t *testing.T, m Message) (data Report) {
	t.Helper()
	if err := json.Unmarshal(m.Data, &data); err != nil {
		t.Fatalf("%v: %s", err, m.Data)
	}
	return data
}

func checkExample(t *testing.T, schema string, data Report) {
	t.Helper()
	if data.ValidExample == nil {
		return
	}
	if out := Compile([]byte(schema)).Arguments(data.ValidExample, Options{}); out.Verdict != Valid && out.Verdict != Unverified {
		t.Errorf("the example %s is %s", data.ValidExample, out.Verdict)
	}
}

func checkBounds(t *testing.T, m Message) {
	t.Helper()
	if len(m.Text) > maxText || len(m.Data) > maxData {
		t.Errorf("a text of %d and data of %d bytes", len(m.Text), len(m.Data))
	}
}

// A schema that contains itself is put in words that end.
func TestASchemaThatContainsItselfIsDescribed(t *testing.T) {
	schema := Compile([]byte(`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"required":["a"],
		"$defs":{"x":{"anyOf":[{"type":"string"},{"not":{"$ref":"#/$defs/x"}},{"$ref":"#/$defs/x"}]}}}`))
	if told := schema.Complaint("tool", []byte(`{}`), "Input validation error: 'a' is a required property", 1); !strings.Contains(told.Text, "a") {
		t.Errorf("told %q", told.Text)
	}
	out := schema.Arguments([]byte(`{"a":1}`), Options{})
	schema.Explain("tool", out, 1)
}

// A server that writes its complaint as a sentence is understood like one that writes a list of
// issues.
func TestPlainComplaints(t *testing.T) {
	const schema = `{"type":"object","required":["email"],"properties":{"email":{"type":"string"},"age":{"type":"integer"},"role":{"type":"string"},
		"website":{"type":"string"},"notes":{"type":"string"},"limit":{"type":"integer"}}}`
	const sent = `{"email":"ada","age":7,"role":"boss","website":"example","limit":9000}`
	for _, c := range []struct{ said, fields, groups string }{
		{"Validation Error: email: Invalid email format", "email", "format"},
		{"Validation Error: email: Invalid email format, age: must be at least 18", "email age", "format range"},
		{"Validation failed: age must be greater than 17; role must be one of admin, user", "age role", "range enum"},
		{"Invalid arguments for tool create_user: website is not a valid URL", "website", "format"},
		{"Error: Validation error: limit should be less than or equal to 100", "limit", "range"},
		{"Invalid arguments for tool create_user: notes is required", "notes", "missing"},
		{"Invalid arguments for tool create_user: role: unknown value (email is fine)", "role", "type"},
		{"Validation errors:\n- age: expected a string\n- website: does not match the pattern", "age website", "type pattern"},
	} {
		if !IsComplaint(c.said, false) {
			t.Errorf("not a complaint: %s", c.said)
		}
		m := Compile([]byte(schema)).Complaint("create_user", []byte(sent), c.said, 1)
		if m.Text == "" {
			t.Errorf("not explained: %s", c.said)
			continue
		}
		report := readReport(t, m)
		var fields, groups []string
		for _, issue := range report.Issues {
			fields = append(fields, issue.Field)
			groups = append(groups, issue.groups...)
		}
		for _, s := range report.Suggestions {
			groups = append(groups, s.Group)
		}
		if strings.Join(fields, " ") != c.fields || strings.Join(groups, " ") != c.groups {
			t.Errorf("%s: %v %v\n%s", c.said, fields, groups, m.Text)
		}
	}
	for _, said := range []string{
		"Validation Error: the build failed in 3 of 7 modules",
		"Validation failed: see the age limit in the handbook",
		"Invalid arguments for tool create_user: the role model is wrong",
	} {
		if m := Compile([]byte(schema)).Complaint("create_user", []byte(sent), said, 1); m.Text != "" {
			t.Errorf("%s: no argument is named:\n%s", said, m.Text)
		}
	}
}

func TestComplaintNamesArgumentsWithSpaces(t *testing.T) {
	const schema = `{"type":"object","properties":{"start date":{"type":"string"},"start date end":{"type":"string"},"days":{"type":"integer"}}}`
	for said, want := range map[string]string{
		`Input validation error: 'start date' is a required property`:                   "start date",
		"1 validation error for call[t]\nstart date\n  Field required":                  "start date",
		`[{"code":"invalid_type","path":["start date end"],"message":"Required"}]`:      "start date end",
		"Missing required arguments: start date, days":                                  "start date, days",
		"Invalid arguments: start date must be a date; days must be at most 14":         "start date, days",
		`must have required property 'start date end'; data/days must be an integer`:    "start date end, days",
		"The start dates of some projects are missing, days and start date ends differ": "",
	} {
		w := serverText{Compile([]byte(schema)), map[string]any{}, said}
		w.schema.Ready()
		var names []string
		for _, path := range w.named() {
			names = append(names, strings.Join(path, "/"))
		}
		if got := strings.Join(names, ", "); got != want {
			t.Errorf("%q names %q, want %q", said, got, want)
		}
	}
}
