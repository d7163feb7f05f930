// Where are Google's token services? At addresses that are built in: a credential file names them too, and is refused if it names others.

/** Others in tests only. */
export interface GoogleServices {
  readonly oauth2: string;
  readonly sts: string;
  /** Its origin. */
  readonly iamCredentials: string;
}

export const googleServices: GoogleServices = {
  oauth2: 'https://oauth2.googleapis.com/token',
  sts: 'https://sts.googleapis.com/v1/token',
  iamCredentials: 'https://iamcredentials.googleapis.com',
};

export const cloudScope = 'https://www.googleapis.com/auth/cloud-platform';

/** The requested lifetime: the longest that Google gives without a policy of the organisation. */
export const lifetimeS = 3_600;
