//! Organizations, as mod-organizations-storage stores them.

use carrel_records::{PLAIN, RecordType, boolean, text, unique};

/// A vendor, donor or other organization that the library has dealings with.
pub static ORGANIZATION: RecordType = RecordType {
    name: "organization",
    module: "mod-organizations-storage",
    table: "organizations",
    path: "/organizations-storage/organizations",
    collection: "organizations",
    shape: "
        id:string(uuid)
        name:string*
        code:string*
        description:string
        exportToAccounting:boolean=false
        status:string(enum=Active|Inactive|Pending)*
        organizationTypes:array<string(uuid)>(set)
        language:string
        aliases:array<object>(open)
        addresses:array<object>(open)
        phoneNumbers:array<object>(open)
        emails:array<object>(open)
        urls:array<object>(open)
        contacts:array<string(uuid)>
        privilegedContacts:array<string(uuid)>
        agreements:array<object>(open)
        erpCode:string
        paymentMethod:string
        accessProvider:boolean
        governmental:boolean
        licensor:boolean
        materialSupplier:boolean
        vendorCurrencies:array<string>
        claimingInterval:integer
        discountPercent:number
        expectedActivationInterval:integer
        expectedInvoiceInterval:integer
        renewalActivationInterval:integer
        subscriptionInterval:integer
        expectedReceiptInterval:integer
        taxId:string
        liableForVat:boolean
        taxPercentage:number
        edi:object(open)
        interfaces:array<string(uuid)>
        accounts:array<object>(open)
        isVendor:boolean=false
        isDonor:boolean=false
        sanCode:string
        changelogs:array<object>(open)
        acqUnitIds:array<string(uuid)>
        tags:object
        tags.tagList:array<string>
    ",
    fields: &[
        text("name").indexed(),
        text("code").indexed(),
        text("status").indexed(),
        boolean("isVendor").indexed(),
    ],
    unique: &[unique(&["code"])],
    ..PLAIN
};
