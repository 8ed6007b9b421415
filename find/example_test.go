package find_test

import (
	"context"
	"fmt"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/find"
)

func ExampleIndex_Search() {
	accepted := func(name, description string, a annotary.Annotations) annotary.Entry {
		return annotary.Entry{
			Tool:  annotary.Tool{Name: name, Description: description},
			Hints: a.Hints(annotary.FromOperator, "accepted"),
		}
	}
	index := find.New([]annotary.Entry{
		accepted("merge_pull_request", "Merge a pull request.", annotary.PresetDestructive),
		accepted("list_pull_requests", "List pull requests.", annotary.PresetReadOnly),
		accepted("get_weather", "The weather at a place.", annotary.PresetReadOnly),
	})
	answer := index.Search(find.Query{Text: "which pull requests are open", ExcludeDestructive: true})
	for _, hit := range answer.Hits {
		fmt.Println("found:", hit.Tool.Name)
	}
	for _, hidden := range answer.Hidden {
		fmt.Println("hidden:", hidden.Names, hidden.Filter)
	}
	fmt.Println("mail:", len(index.Search(find.Query{Text: "send gmail email"}).Hits))
	// Output:
	// found: list_pull_requests
	// hidden: [merge_pull_request] exclude_destructive
	// mail: 0
}

func ExampleQuery_alwaysActive() {
	tools := []annotary.Entry{
		{Tool: annotary.Tool{Server: "shop", Name: "order_cancel"}, Hints: annotary.Pessimistic()},
		{Tool: annotary.Tool{Server: "shop", Name: "orders_list"}, Hints: annotary.PresetReadOnly.Hints(annotary.FromOperator, "accepted")},
	}
	answer := find.New(tools).Search(find.Query{List: true, ReadOnly: true, AlwaysActive: []string{"shop/order_cancel"}})
	for _, hit := range answer.Hits {
		fmt.Printf("%s %q\n", hit.Tool.Name, hit.Kept)
	}
	// Output:
	// orders_list ""
	// order_cancel "always_active"
}

func ExampleSemantic() {
	tools := []annotary.Entry{{Tool: annotary.Tool{Name: "list_notes"}}, {Tool: annotary.Tool{Name: "delete_note"}}}
	semantic := find.Semantic{
		Index: find.New(tools),
		Embedder: find.NewEmbeddings(find.EmbeddingsOptions{
			URL: "http://127.0.0.1:1/v1/embeddings", Model: "small", Timeout: time.Second,
		}),
	}
	answer := semantic.Search(context.Background(), find.Query{Text: "notes"})
	fmt.Println(len(answer.Hits), answer.Semantic)
	// Output: 2 not fused, ranked by words only: the embeddings endpoint did not answer as it should: no connection
}
