//! The calendar's record types.

use carrel_records::{PLAIN, RecordType, array, text};

/// Opening hours of service points in a period.
pub static CALENDAR: RecordType = RecordType {
    name: "calendar",
    module: "mod-calendar",
    table: "calendars",
    path: "/calendar/calendars",
    collection: "calendars",
    shape: "
        id:string(uuid)
        name:string*
        startDate:string(date)*
        endDate:string(date)*
        assignments:array<string(uuid)>*
        normalHours:array<object>*
        normalHours[].calendarId:string(uuid)
        normalHours[].startDay:string(enum=SUNDAY|MONDAY|TUESDAY|WEDNESDAY|THURSDAY|FRIDAY|SATURDAY)*
        normalHours[].startTime:string(time)*
        normalHours[].endDay:string(enum=SUNDAY|MONDAY|TUESDAY|WEDNESDAY|THURSDAY|FRIDAY|SATURDAY)*
        normalHours[].endTime:string(time)*
        exceptions:array<object>*
        exceptions[].calendarId:string(uuid)
        exceptions[].name:string*
        exceptions[].startDate:string(date)*
        exceptions[].endDate:string(date)*
        exceptions[].openings:array<object>*
        exceptions[].openings[].exceptionId:string(uuid)
        exceptions[].openings[].startDate:string(date)*
        exceptions[].openings[].startTime:string(time)*
        exceptions[].openings[].endDate:string(date)*
        exceptions[].openings[].endTime:string(time)*
    ",
    fields: &[text("name").indexed(), array("assignments").words()],
    ..PLAIN
};

/// Every record type of this module.
pub static RECORD_TYPES: &[&RecordType] = &[&CALENDAR];

#[cfg(test)]
mod tests {
    use super::RECORD_TYPES;

    #[test]
    fn the_declarations_hold_together() {
        assert_eq!(carrel_records::soundness::faults(RECORD_TYPES, &[]), [""; 0]);
    }
}
