package audit

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/annotary/annotary"
)

// TestEncodeIsJSON: whatever is in an entry, it is written as encoding/json
// writes it; a field that the encoder forgets shows.
func TestEncodeIsJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 10))
	texts := []string{"", "plain", `"quoted" \`, "<b>&", "é\u2028\x00\xff", "ключ"}
	for i := range 300 {
		var e Entry
		fill(reflect.ValueOf(&e).Elem(), r, texts, i == 0)
		e.Time = time.Date(2026, 11, 15, 1, 2, 3, r.IntN(1e9), time.UTC).Truncate(time.Microsecond)
		want, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := e.marshal(); err != nil || string(got) != string(want) {
			t.Fatalf("got %s, %v\nwant %s", got, err, want)
		}
	}
}

// fill puts something into every field, or into all of them.
func fill(v reflect.Value, r *rand.Rand, texts []string, all bool) {
	if !all && r.IntN(3) == 0 {
		return
	}
	switch p := v.Addr().Interface().(type) {
	case *time.Time:
		return
	case *json.RawMessage:
		*p = json.RawMessage(`{"a": [1, "<"]}`)
		return
	case *annotary.Value:
		*p = []annotary.Value{annotary.Unknown, annotary.No, annotary.Yes}[r.IntN(3)]
		return
	case *annotary.Source:
		*p = annotary.FromOperator
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field, r, texts, all)
		}
	case reflect.String:
		v.SetString(texts[1+r.IntN(len(texts)-1)])
	case reflect.Int:
		v.SetInt(1 + r.Int64N(1e6))
	case reflect.Float64:
		v.SetFloat(float64(1+r.IntN(1e9)) / 1000)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+r.IntN(3), 4))
		for i := range v.Len() {
			fill(v.Index(i), r, texts, all)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for n := range annotary.HintName(annotary.NumHints) {
			e := reflect.New(v.Type().Elem()).Elem()
			fill(e, r, texts, all)
			v.SetMapIndex(reflect.ValueOf(n.String()), e)
		}
	default:
		panic(fmt.Sprintf("no way to fill a %s", v.Type()))
	}
}
