// Package deploytest checks the files in deploy, and what gauze exports, with the libraries of
// Prometheus and OpenTelemetry and the types of Grafana. It is a module of its own so that gauze does
// not depend on them.
package deploytest
