// What does the measured ledger show the measured gateways? In a cluster it comes with the table.

export const benchToken = 'bench-exchange-token';
