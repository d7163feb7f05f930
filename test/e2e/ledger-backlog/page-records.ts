/** A mebibyte of them. */
export const PAGE_RECORDS = 1_200;
