//! One process writes a store at a time; everybody may read it meanwhile.

use crate::world::{Agent, Bench, Record};

#[tokio::test]
async fn a_second_process_on_a_store_names_the_first_and_stops_while_readers_work() {
    let bench = Bench::empty();
    bench.write_dataset(8);
    let agent = Agent::start(bench.path(), &["--latency", "100ms"]);
    bench.write_profile(&agent.chat_url(), "max_in_flight: 1", "");
    let store = bench.store("one");
    let first = bench.run(&store, &[]);
    first.until_recorded(&store, "an answer", |record| record.count("attempt.answered") > 0).await;
    let pid = first.pid();

    let second = bench.run(&store, &[]).end().await;
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(second.stderr.contains(&format!("process {pid}")), "{}", second.stderr);

    let record = Record::read(&store).await.expect("a reader reads while another process writes");
    assert_eq!(record.count("run.planned"), 1, "the second process has written nothing");
    let first = first.end().await;
    assert_eq!(first.code, Some(0), "{first:?}");
}
