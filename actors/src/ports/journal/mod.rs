//! The journal port: the append-only table of events and the small tables that
//! are written with it.
//!
//! An adapter keeps these promises, and `crate::testing::conformance` checks them on every adapter:
//!
//! - **A unit is all or nothing**: events, guards, rows and views of one
//!   [`AppendUnit`] become visible together or not at all. A unit that fails
//!   never holds up or harms another one written in the same transaction.
//! - **The identical unit again is success.** When every stream of a unit already
//!   holds, at the versions the unit would have written, events of the unit's
//!   command with the same ids, the stored events are returned and nothing else
//!   changes. So an append whose outcome is unknown is settled by appending it again.
//! - **Guards are checked inside the transaction** against the lease row and the
//!   database's clock; grants, expiries and releases exclude them.
//! - **One instant an append**: `recorded_at` of its events and every instant its
//!   rows and views take are the same reading of the database's clock.
//! - Events are never changed or deleted; the database itself refuses it.
//!
//! [`unit`] says what is written together and under which conditions, [`row`] which small tables
//! there are, [`error`] why a unit is refused; [`reader`] and [`writer`] are the port itself, and
//! [`hints`] what wakes those who wait. Everything is named from here.

mod error;
mod hints;
mod reader;
mod row;
mod unit;
mod writer;

pub use error::{AppendError, Failure, Refusal, StaleReason};
pub use hints::Hints;
pub use reader::{EventFilter, JournalReader, Progress, StreamHead};
pub use row::{
    Desired, Intent, IntentKind, LeaseRow, OutboxMessage, OutboxRow, PlanRow, ReadyRow, Renewal, Row, Settlement,
    SettlementRow,
};
pub use unit::{AppendUnit, Appended, Expected, Guard, StreamAppend};
pub use writer::Journal;
