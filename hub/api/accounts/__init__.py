"""Operations and serializers of apps, grants, authorizations and email addresses."""
